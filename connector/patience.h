#pragma once
// For how long something has been in trouble. Only time in which this process ran counts: one that was suspended, or
// whose host stood still, has not tried. Pure; thread: the loop thread.

#include <chrono>
#include <optional>

#include "connector/clock.h"

namespace walrelay {

class Patience {
 public:
  // Between two turns of a loop that runs there is less.
  static constexpr Duration kStandstill = std::chrono::seconds(3);

  explicit Patience(Duration limit) : limit_(limit) {}

  // At each turn of the loop.
  void turn(Instant now) {
    if (since_ && turned_at_ && now - *turned_at_ >= kStandstill) since_ = *since_ + (now - *turned_at_);
    turned_at_ = now;
  }
  // There is trouble, since now if there was none.
  void trouble(Instant now) {
    if (!since_) since_ = now;
  }
  // Nobody waits for an end of it: it counts from here, if there is any.
  void restart(Instant now) {
    if (since_) since_ = now;
  }
  void success() { since_.reset(); }

  [[nodiscard]] bool in_trouble() const { return since_.has_value(); }
  [[nodiscard]] bool over(Instant now) const { return since_ && now - *since_ >= limit_; }
  // When it will be over.
  [[nodiscard]] Instant deadline() const { return since_ ? *since_ + limit_ : Instant::max(); }

 private:
  Duration limit_;
  std::optional<Instant> since_;
  std::optional<Instant> turned_at_;
};

}  // namespace walrelay
