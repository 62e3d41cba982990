#pragma once
// When to let frames pile up before the next read. A server sends each row by itself, and an eager reader makes it pay
// for each by itself: for waking the reader, and for the way through the kernel, which a heap of rows goes at once. So
// a busy stream is read in heaps, and the further behind it is the larger they are; a steady one is read with each row
// that comes, and a quiet one with each message (docs/benchmarks.md). Thread: the loop thread.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include "connector/clock.h"
#include "connector/postgres/transport.h"

namespace walrelay {

class ReadPace {
 public:
  static constexpr Duration kPauseMin = std::chrono::microseconds(500);
  static constexpr Duration kPauseMax = std::chrono::milliseconds(10);
  static constexpr Duration kWindow = std::chrono::milliseconds(1);
  // Frames of a window; 1,000 transactions of one row in a second make 3.
  static constexpr long kBusyFramesMin = 16;

  // To be told of every step, with the frames it took in and its time. True: the stream is busy.
  bool busy_after(std::size_t frames, Instant now) {
    frames_ += static_cast<long>(frames);
    const Duration length = now - window_began_;
    if (length >= kWindow) {
      busy_ = frames_ >= kBusyFramesMin * (length / kWindow);
      frames_ = 0;
      window_began_ = now;
    }
    watch_steadiness(frames, now);
    return busy_;
  }

  static constexpr Duration kSteadyWindow = std::chrono::milliseconds(100);
  // Frames of a window; 50 transactions of one row in a second make 15.
  static constexpr long kSteadyFramesMin = 15;
  // More than what comes between two rows of a steady stream and is as well taken along with the second: a Commit (56),
  // up to two keepalives (23 each) and a Begin (51). No transaction with an event is smaller.
  static constexpr int kWakeBytes = 160;

  // How many bytes have to come before the loop is woken for them.
  [[nodiscard]] int wake_bytes() const { return steady_ ? kWakeBytes : 1; }
  // When to look again at a stream that was steady, or less than kWakeBytes might lie for long.
  [[nodiscard]] std::optional<Instant> deadline() const {
    if (!steady_) return std::nullopt;
    return steady_since_ + kSteadyWindow;
  }

  // From there on a few milliseconds more do not matter to anybody, but larger requests do to the broker.
  static constexpr Duration kLate = std::chrono::milliseconds(50);

  // How long a busy stream is left alone. `backlog`: how late its events come already, of which the pause makes little
  // more. A Unix socket holds no more than the shortest pause lets come.
  static Duration pause(Transport transport, Duration backlog) {
    if (transport == Transport::unix_socket) return kPauseMin;
    return std::clamp(backlog / 10, kPauseMin, kPauseMax);
  }

 private:
  void watch_steadiness(std::size_t frames, Instant now) {
    steady_frames_ += static_cast<long>(frames);
    const Duration length = now - steady_since_;
    if (length < kSteadyWindow) return;
    steady_ = steady_frames_ >= kSteadyFramesMin * (length / kSteadyWindow);
    steady_frames_ = 0;
    steady_since_ = now;
  }

  Instant window_began_{};
  long frames_ = 0;  // since then
  bool busy_ = false;
  Instant steady_since_{};
  long steady_frames_ = 0;  // since then
  bool steady_ = false;
};

}  // namespace walrelay
