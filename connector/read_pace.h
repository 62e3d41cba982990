#pragma once
// When to let frames pile up before the next read. A server sends each row by itself and pays for waking the reader
// every time, so a reader that takes a busy stream row by row slows its server down (docs/benchmarks.md). A quiet
// stream is read at once. Thread: the loop thread.

#include <chrono>
#include <cstddef>

#include "connector/clock.h"

namespace walrelay {

class ReadPace {
 public:
  static constexpr Duration kPause = std::chrono::microseconds(800);  // what a busy stream's rows may wait longer
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

 private:
  Instant window_began_{};
  long frames_ = 0;  // since then
  bool busy_ = false;
};

}  // namespace walrelay
