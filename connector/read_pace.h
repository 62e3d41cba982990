#pragma once
// When to let frames pile up before the next read. A server sends each row by itself, and an eager reader makes it pay
// for each by itself: for waking the reader, and for the way through the kernel, which a heap of rows goes at once. So
// a busy stream is read in heaps, and the further behind it is the larger they are; a quiet stream is read at once
// (docs/benchmarks.md). Thread: the loop thread.

#include <algorithm>
#include <chrono>
#include <cstddef>

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
    return busy_;
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
  Instant window_began_{};
  long frames_ = 0;  // since then
  bool busy_ = false;
};

}  // namespace walrelay
