#pragma once
// How far a command that publishes rows has come, on stderr: a line every few seconds, or on a terminal one line that
// is redrawn. Thread: one.

#include <cstdint>
#include <string>

#include "connector/clock.h"

namespace walrelay {

class RowMeter {
 public:
  // `what`: "backfill". Says nothing before expect().
  RowMeter(std::string what, Instant now);

  // How many rows there are; the rate counts from here.
  void expect(std::uint64_t total, Instant now);
  // Shows it if it is time to. `waiting`: why nothing goes on, "" if it does.
  void show(std::uint64_t done, std::string_view waiting, Instant now);
  // The last line, in any case.
  void finish(std::uint64_t done, Instant now);

  // "backfill: 1200 of 5000 rows, 400 rows/s, about 10 s left"
  [[nodiscard]] std::string line(std::uint64_t done, Instant now) const;

 private:
  void print(std::uint64_t done, std::string_view waiting, Instant now);

  std::string what_;
  bool terminal_;
  bool expecting_ = false;
  std::uint64_t total_ = 0;
  Instant begin_;
  Instant next_;
};

}  // namespace walrelay
