#pragma once
// The last quarter of an hour, for a status page that has just been opened: a sample every five seconds, in memory of a
// fixed size. Numbers come from RelayMetrics, state and readiness from the StatusBoard.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "connector/clock.h"
#include "connector/observe/metrics.h"
#include "connector/observe/status_board.h"

namespace walrelay {

// At one moment. What was not known then is absent.
struct HistorySample {
  PgTime time = 0;
  RelayState state = RelayState::starting;
  bool ready = false;
  std::optional<double> lag_seconds;
  std::optional<std::uint64_t> lag_bytes;
  std::optional<std::int64_t> retained_bytes;
  std::optional<std::int64_t> safe_bytes;
  std::uint64_t events = 0;  // settled since the process began
  std::uint64_t in_flight = 0;
};

class History {
 public:
  static constexpr Duration kInterval = std::chrono::seconds(5);
  static constexpr std::size_t kSamplesMax = 181;  // both ends of 15 minutes
  // What the growth of the slot's WAL is taken from: the last minutes or, where it is too slow to be seen in them, all.
  static constexpr std::array<std::chrono::minutes, 2> kGrowthOver{std::chrono::minutes(5), std::chrono::minutes(15)};
  // A healthy slot lets its WAL go every 15 to 30 s, when the server writes down what runs. What it has gathered since
  // is no growth, so the least of this time is compared with the least of the time before.
  static constexpr std::chrono::seconds kGrowthFloor{60};
  static constexpr std::chrono::seconds kGrowthOverAtLeast{30};
  // What would take longer than this is not told.
  static constexpr std::chrono::hours kLossToldWithin{30 * 24};

  // All stay the caller's and have to outlive this.
  History(const RelayMetrics& metrics, const StatusBoard& board, const Clock& clock)
      : metrics_(metrics), board_(board), clock_(clock) {}

  // At each turn of the loop: takes a sample if one is due. Never waits: while a reader copies, the next turn takes it.
  void turn(Instant now) {
    if (now >= due_) take(now);
  }

  // Thread: any, as all that follows. Oldest first.
  [[nodiscard]] std::vector<HistorySample> samples() const;

  // Until the server may give the slot up, if the WAL kept for it goes on growing as in the last minutes. Absent where
  // it does not grow, by more than it falls by now and then, where the server has no limit, or not enough is known yet.
  [[nodiscard]] std::optional<double> seconds_until_lost() const;

 private:
  void take(Instant now);
  [[nodiscard]] HistorySample sample() const;

  const RelayMetrics& metrics_;
  const StatusBoard& board_;
  const Clock& clock_;
  Instant due_{};
  mutable std::mutex mutex_;
  std::array<HistorySample, kSamplesMax> ring_{};
  std::size_t taken_ = 0;  // since the start
};

}  // namespace walrelay
