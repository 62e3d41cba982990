#include "connector/observe/metrics.h"

#include <algorithm>

namespace walrelay {
namespace {

std::int64_t nanoseconds(Instant instant) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(instant.time_since_epoch()).count();
}

}  // namespace

void Stopwatch::start(Instant now) {
  const auto state = state_.load(std::memory_order_relaxed);
  if (state >= 0) state_.store(-1 - (nanoseconds(now) - state), std::memory_order_relaxed);
}

void Stopwatch::stop(Instant now) {
  if (state_.load(std::memory_order_relaxed) < 0) {
    state_.store(std::chrono::nanoseconds(total(now)).count(), std::memory_order_relaxed);
  }
}

Duration Stopwatch::total(Instant now) const {
  const auto state = state_.load(std::memory_order_relaxed);
  return std::chrono::nanoseconds(state >= 0 ? state : nanoseconds(now) - (-1 - state));
}

Duration Heartbeat::age(Instant now) const {
  const auto last = last_.load(std::memory_order_relaxed);
  if (last == kNever) return Duration::zero();
  return std::max(Duration::zero(), now - Instant(Duration(last)));
}

void LatencyHistogram::observe(std::chrono::microseconds latency, std::uint64_t times) {
  const auto clamped = std::max(latency, std::chrono::microseconds::zero());
  const auto seconds = std::chrono::duration<double>(clamped).count();
  const auto bound = std::lower_bound(kUpperBoundsSeconds.begin(), kUpperBoundsSeconds.end(), seconds);
  buckets_[static_cast<std::size_t>(bound - kUpperBoundsSeconds.begin())].add(times);
  sum_us_.add(static_cast<std::uint64_t>(clamped.count()) * times);
}

std::optional<std::uint64_t> RelayMetrics::lag_bytes() const {
  const auto server = server_wal_lsn.value();
  const auto confirmed = confirmed_lsn.value();
  if (!server || !confirmed) return std::nullopt;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, *server - *confirmed));
}

std::optional<double> RelayMetrics::lag_seconds(PgTime now) const {
  const auto oldest = oldest_unconfirmed_commit.value();
  if (!oldest || !server_wal_lsn.value()) return std::nullopt;
  if (*oldest == kNoCommitWaiting) return 0.0;
  return std::chrono::duration<double>(std::chrono::microseconds(std::max<std::int64_t>(0, now - *oldest))).count();
}

}  // namespace walrelay
