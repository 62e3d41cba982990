#pragma once
// How long to wait before the next attempt: doubles from `first` up to `cap`, each time shortened by up to a half at
// random, so that instances that failed together do not come back together. Pure: the seed decides all of it.

#include <algorithm>
#include <cstdint>
#include <random>

#include "connector/clock.h"

namespace walrelay {

struct BackoffLimits {
  Duration first = std::chrono::milliseconds(100);
  Duration cap = std::chrono::seconds(10);
};

class Backoff {
 public:
  Backoff(BackoffLimits limits, std::uint64_t seed) : limits_(limits), base_(limits.first), random_(seed) {}

  // Within [d/2, d], d being the doubled and capped delay.
  [[nodiscard]] Duration next() {
    const auto longest = std::min(base_, limits_.cap);
    base_ = longest > limits_.cap / 2 ? limits_.cap : longest * 2;
    return Duration(std::uniform_int_distribution<Duration::rep>(longest.count() / 2, longest.count())(random_));
  }

  // An attempt went well: the next failure starts over.
  void reset() { base_ = limits_.first; }

 private:
  BackoffLimits limits_;
  Duration base_;
  std::mt19937_64 random_;
};

}  // namespace walrelay
