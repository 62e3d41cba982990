#pragma once
// Which server a slot is on, and what led to its log. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/lsn.h"

namespace walrelay {

// Where a timeline was left for the next one.
struct TimelineEnd {
  std::uint32_t timeline = 0;
  Lsn end;
};

// Which server and history this is: what a slot's position is meaningful in.
struct ServerHistory {
  std::string system_identifier;
  std::uint32_t timeline = 0;
  Lsn flushed;  // end of the server's log
  std::string database;
  std::vector<TimelineEnd> earlier_timelines = {};  // that lead to `timeline`, oldest first

  [[nodiscard]] bool continues(const ServerHistory& other) const {
    return system_identifier == other.system_identifier && timeline == other.timeline && database == other.database;
  }
};

// The contents of a timeline history file. Lines that are none are passed over.
[[nodiscard]] std::vector<TimelineEnd> parse_timeline_history(std::string_view text);

}  // namespace walrelay
