#include "connector/observe/time_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdint>
#include <ctime>

namespace walrelay {

std::string iso_time(PgTime time) {
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
