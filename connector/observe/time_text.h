#pragma once
// PgTime as people and machines read it: ISO 8601, UTC, milliseconds.

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdint>
#include <ctime>
#include <string>

#include "connector/clock.h"

namespace walrelay {

// "2026-01-31T23:59:59.123Z". `time` is in microseconds since 2000-01-01 UTC and within the years that time_t can hold.
[[nodiscard]] inline std::string iso_time(PgTime time) {
  constexpr std::int64_t kMicrosecondsPerSecond = 1'000'000;
  auto seconds = time / kMicrosecondsPerSecond;
  auto microseconds = time % kMicrosecondsPerSecond;
  if (microseconds < 0) {
    microseconds += kMicrosecondsPerSecond;
    --seconds;
  }
  const std::time_t unix_seconds = seconds + kPgEpochUnixSeconds;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(unix_seconds), microseconds / 1000);
}

}  // namespace walrelay
