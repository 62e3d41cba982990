#pragma once
// The progress record: what was delivered of a slot, kept beside the events in a compacted topic (key: the slot's
// name), where a server that loses its disk, is restored or is replaced cannot change it. It is acknowledged before a
// position is confirmed, so the slot never stands beyond it unless somebody else has moved the slot.
//
// As JSON: {"slot":"walrelay","generation":1,"system_identifier":"7438…","timeline":1,"database":"shop",
// "position":"0/16B3748","commit":{"end_lsn":"0/16B3740","xid":761,"time":845123456789012}}; "commit" is null before
// the first event. Everything here is a pure function.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "connector/ack_frontier.h"

namespace walrelay {

struct ProgressRecord {
  std::string slot;
  std::uint64_t generation = 1;  // of the slot: one more each time that `recover` makes it anew
  std::string system_identifier;
  std::uint32_t timeline = 0;
  std::string database;
  Lsn position;                      // everything before it is settled
  std::optional<CommitMark> commit;  // the last transaction with events at or before it
  bool operator==(const ProgressRecord&) const = default;
};

[[nodiscard]] std::string to_json(const ProgressRecord& record);

// Nothing if it is no such record.
[[nodiscard]] std::optional<ProgressRecord> parse_progress(std::string_view json);

// The one that counts of a slot's latest records, oldest first. Not always the last: a process that was suspended may
// write an older position after its successor has taken over. Nothing if the last one cannot be read.
[[nodiscard]] std::optional<ProgressRecord> choose_progress(std::span<const std::string> records);

}  // namespace walrelay
