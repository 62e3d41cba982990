#pragma once
// When a standby status update is due: at once if the server asks, soon after the confirmed position moved, and
// otherwise often enough that the server does not take us for dead (wal_sender_timeout), whatever the sink does.

#include <algorithm>
#include <chrono>

#include "connector/clock.h"
#include "decoder/lsn.h"

namespace walrelay {

class StatusPolicy {
 public:
  static constexpr Duration kAfterMove = std::chrono::milliseconds(200);
  static constexpr Duration kIntervalMax = std::chrono::seconds(10);

  // `wal_sender_timeout`: the server's; zero where it is switched off.
  void start(Instant now, std::chrono::milliseconds wal_sender_timeout) {
    interval_ =
        wal_sender_timeout.count() > 0 ? std::min<Duration>(wal_sender_timeout / 3, kIntervalMax) : kIntervalMax;
    due_ = now;
    sent_ = Lsn{};
  }

  void at_once(Instant now) { due_ = std::min(due_, now); }

  void confirmed(Lsn position, Instant now) {
    if (position <= sent_) return;
    due_ = std::min(due_, now + kAfterMove);
  }

  void sent(Lsn position, Instant now) {
    sent_ = position;
    due_ = now + interval_;
  }

  [[nodiscard]] Instant due() const { return due_; }
  // The position in the last update; invalid before the first one.
  [[nodiscard]] Lsn last_sent() const { return sent_; }

 private:
  Duration interval_ = kIntervalMax;
  Instant due_{};
  Lsn sent_{};
};

}  // namespace walrelay
