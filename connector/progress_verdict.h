#pragma once
// Compares, at the start of a relay, the slot and its server with the progress record: may the relay go on, from what
// record, and up to which commit was everything delivered before? Pure.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "connector/progress_gate.h"
#include "connector/server_history.h"

namespace walrelay {

// What can be done about a gap, for messages.
inline constexpr std::string_view kWayOutOfGap =
    "`walrelay recover` makes the slot anew and publishes the rows between from the table; `walrelay recover "
    "--backfill "
    "none` does so without them";

// "events were delivered up to 0/16B3748, the last commit at 0/16B3740"
[[nodiscard]] std::string what_was_delivered(const ProgressRecord& record);

struct ProgressVerdict {
  std::string gap;                    // why not, in one line with positions and the way out; "" if it may go on
  ProgressGate gate;                  // to begin with
  std::optional<CommitMark> covered;  // the server sends up to it again, and it is not to be published again
};

// `stored`: the latest records of the slot, oldest first, as they were read after `slot_position` was asked for.
[[nodiscard]] ProgressVerdict judge_progress(std::span<const std::string> stored, const std::string& slot,
                                             Lsn slot_position, const ServerHistory& server);

}  // namespace walrelay
