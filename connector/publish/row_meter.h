#pragma once
// How far a command that publishes rows has come, on stderr. On a terminal a bar, one line that is redrawn; elsewhere a
// line every few seconds. Thread: one.
//
//   backfill [########------------]  40 %  2000 of 5000 rows, 500 rows/s, 6 s left

#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "connector/clock.h"

namespace walrelay {

class RowMeter {
 public:
  // `what`: "backfill". Until expect() only a terminal is told that rows are counted.
  // `unit`: what is counted.
  RowMeter(std::string what, Instant now, int descriptor = STDERR_FILENO, std::string unit = "rows");
  ~RowMeter();  // what comes next begins on a line of its own
  RowMeter(const RowMeter&) = delete;
  RowMeter& operator=(const RowMeter&) = delete;

  // How many rows there are; the rate counts from here. Of none nothing is shown.
  void expect(std::uint64_t total, Instant now);
  // Shows it if it is time to. `waiting`: why nothing goes on, "" if it does.
  void show(std::uint64_t done, std::string_view waiting, Instant now);
  // The last line, in any case.
  void finish(std::uint64_t done, Instant now);

  // "backfill: 1200 of 5000 rows (24 %), 400 rows/s, about 10 s left"
  [[nodiscard]] std::string line(std::uint64_t done, Instant now) const;
  // As above, without regard to the terminal's width.
  [[nodiscard]] std::string bar(std::uint64_t done, Instant now) const;

 private:
  [[nodiscard]] std::string pace(std::uint64_t done, Instant now) const;
  void print(std::uint64_t done, std::string_view waiting, Instant now);
  void draw(std::string text);
  void end_bar();

  const std::string what_;
  const std::string unit_;
  const int descriptor_;
  const bool terminal_;
  bool drawn_ = false;
  bool expecting_ = false;
  std::uint64_t total_ = 0;
  Instant begin_;
  Instant next_;
};

}  // namespace walrelay
