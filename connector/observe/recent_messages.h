#pragma once
// The last warnings and errors, for people who look at the status page and not at the log. Fixed number, of which no
// event takes more than a third; a message that comes again is counted, not kept twice. Thread: any; a mutex is held
// for the time of a copy.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connector/clock.h"
#include "connector/config/config.h"

namespace walrelay {

struct RecentMessage {
  PgTime time = 0;          // when it came last
  std::uint64_t times = 1;  // how often, as far as is remembered
  LogLevel level = LogLevel::warning;
  std::string event;
  std::string text;  // without secrets, one line
};

class RecentMessages {
 public:
  static constexpr std::size_t kMax = 12;
  static constexpr std::ptrdiff_t kOfOneEventMax = 4;

  void add(PgTime time, LogLevel level, std::string_view event, std::string text) {
    const std::lock_guard lock(mutex_);
    const auto of_event = [&](const RecentMessage& kept) { return kept.event == event; };
    const auto same = std::find_if(kept_.begin(), kept_.end(), [&](const RecentMessage& kept) {
      return of_event(kept) && kept.level == level && kept.text == text;
    });
    std::uint64_t times = 1;
    if (same != kept_.end()) {
      times += same->times;
      kept_.erase(same);
    } else if (std::count_if(kept_.begin(), kept_.end(), of_event) == kOfOneEventMax) {
      kept_.erase(std::prev(std::find_if(kept_.rbegin(), kept_.rend(), of_event).base()));
    } else if (kept_.size() == kMax) {
      kept_.pop_back();
    }
    kept_.insert(kept_.begin(), {time, times, level, std::string(event), std::move(text)});
  }

  // The newest first.
  [[nodiscard]] std::vector<RecentMessage> messages() const {
    const std::lock_guard lock(mutex_);
    return kept_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<RecentMessage> kept_;
};

}  // namespace walrelay
