#pragma once
// Progress records for tests, of a slot "walrelay" on cluster "77", timeline 1, database "shop".

#include "connector/progress_record.h"

namespace walrelay::test {

inline ProgressRecord record_at(std::uint64_t position, std::optional<CommitMark> commit = std::nullopt) {
  return {.slot = "walrelay",
          .generation = 1,
          .system_identifier = "77",
          .timeline = 1,
          .database = "shop",
          .position = Lsn{position},
          .commit = commit};
}

}  // namespace walrelay::test
