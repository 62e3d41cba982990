#pragma once
// Whether a slot can be streamed from, and if not, whether waiting helps. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include "connector/ack_frontier.h"
#include "connector/config/config.h"
#include "connector/server_watch.h"
#include "connector/source.h"

namespace walrelay {

struct SlotVerdict {
  enum class Kind : std::uint8_t {
    usable,
    taken,     // another connection streams from it: stand by
    not_yet,   // waiting helps: the server is a standby
    unusable,  // exit 3: somebody has to change something
    lost,      // exit 5: there is or may be a gap
  };
  Kind kind = Kind::usable;
  std::string reason;  // one line with the remedy; "" if usable
};

// `messages`: whether an outbox consists of messages.
[[nodiscard]] SlotVerdict judge_slot(const ServerFacts& facts, const std::string& slot, const std::string& publication,
                                     bool messages);

// What keeps the publication from sending inserts, with the remedy; "" if nothing does.
[[nodiscard]] std::string publication_fault(const ServerFacts& facts, const std::string& publication);

// The stream ended because the publication did not exist at the position that was decoded. Creating it now does not
// help.
[[nodiscard]] bool publication_missing_in_history(const SourceError& error);
[[nodiscard]] std::string publication_younger_than_slot(const SourceError& error, const PostgresOptions& postgres);

// The stream ended at a row that the server cannot send (sounds_like_oversized_row()): where that is, as far as is
// known, and how to go on. `received`: the end of the last whole transaction; `events`: read of the one behind it.
[[nodiscard]] std::string row_cannot_be_sent(const SourceError& error, const std::string& slot, Lsn received,
                                             const std::optional<TransactionStart>& transaction, std::uint64_t events);

}  // namespace walrelay
