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
    timeout_ = wal_sender_timeout;
    due_ = now;
    sent_ = Lsn{};
    sent_at_ = now;
  }

  void at_once(Instant now) { due_ = std::min(due_, now); }

  void confirmed(Lsn position, Instant now) {
    if (position <= sent_) return;
    due_ = std::min(due_, now + kAfterMove);
  }

  void sent(Lsn position, Instant now) {
    sent_ = position;
    sent_at_ = now;
    due_ = now + interval_;
  }

  // The server's wal_sender_timeout.
  [[nodiscard]] Duration timeout() const { return timeout_; }
  // The server has waited for an update for as long as it does. It has ended the session then, whatever still comes of
  // it, and the slot may be another instance's.
  [[nodiscard]] bool expired(Instant now) const { return timeout_ > Duration::zero() && now - sent_at_ >= timeout_; }

  [[nodiscard]] Instant due() const { return due_; }
  // The position in the last update; invalid before the first one.
  [[nodiscard]] Lsn last_sent() const { return sent_; }

 private:
  Duration timeout_{};
  Duration interval_ = kIntervalMax;
  Instant due_{};
  Lsn sent_{};
  Instant sent_at_{};
};

}  // namespace walrelay
