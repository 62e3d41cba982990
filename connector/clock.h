#pragma once
// The only source of time of the relay. A seam, so that the simulator decides what time it is.

#include <chrono>
#include <cstdint>

namespace walrelay {

using Instant = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// Microseconds since 2000-01-01 00:00 UTC, PostgreSQL's TimestampTz.
using PgTime = std::int64_t;
inline constexpr std::int64_t kPgEpochUnixSeconds = 946'684'800;

class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;  // monotonic
  [[nodiscard]] virtual PgTime wall() const = 0;  // may jump
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] PgTime wall() const override {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count() - kPgEpochUnixSeconds * 1'000'000;
  }
};

}  // namespace walrelay
