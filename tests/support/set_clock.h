#pragma once
// A clock that stands until the test moves it.

#include "connector/clock.h"

namespace walrelay::test {

class SetClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  [[nodiscard]] PgTime wall() const override { return wall_; }

  void advance(Duration duration) {
    now_ += duration;
    wall_ += std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  }

 private:
  Instant now_{std::chrono::hours(1)};
  PgTime wall_ = std::int64_t{800'000'000} * 1'000'000;  // 2025-05-08 06:13:20 UTC
};

}  // namespace walrelay::test
