#pragma once
// Whether a slot can be streamed from, and if not, whether waiting helps. Pure.

#include <string>

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

}  // namespace walrelay
