#pragma once
// Reasons for which something does not work, so that a trouble that lasts is told when it begins, when its reason
// changes, and then only now and then.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "connector/clock.h"

namespace walrelay {

class ToldReasons {
 public:
  static constexpr Duration kAgain = std::chrono::minutes(5);

  // Whether to log it now; it counts as told then. Two reasons that alternate are told once each.
  [[nodiscard]] bool worth_telling(std::string_view why, Instant now) {
    std::erase_if(told_, [&](const Told& told) { return now - told.at >= kAgain; });
    if (std::any_of(told_.begin(), told_.end(), [&](const Told& told) { return told.why == why; })) return false;
    if (told_.size() == kReasonsMax) told_.erase(told_.begin());
    told_.push_back({std::string(why), now});
    return true;
  }

  // The trouble is over: whatever comes next is news.
  void clear() { told_.clear(); }

 private:
  static constexpr std::size_t kReasonsMax = 16;
  struct Told {
    std::string why;
    Instant at;
  };
  std::vector<Told> told_;  // oldest first
};

}  // namespace walrelay
