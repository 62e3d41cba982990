#include "connector/observe/history.h"

#include <algorithm>
#include <span>

namespace walrelay {
namespace {

std::uint64_t settled_events(const RelayMetrics& metrics) {
  std::uint64_t events = 0;
  for (std::size_t outbox = 0; outbox < metrics.outbox_count(); ++outbox) {
    for (const auto result : {EventResult::delivered, EventResult::dead_letter, EventResult::skipped}) {
      events += metrics.events(outbox, result);
    }
  }
  return events;
}

double seconds(PgTime microseconds) { return static_cast<double>(microseconds) / 1e6; }

struct Kept {
  PgTime time;
  std::int64_t bytes;
};

// In bytes a second over the time since `from`; 0 if it does not grow.
double growth(std::span<const Kept> all, PgTime from) {
  const PgTime floor_from = all.back().time - std::chrono::microseconds(History::kGrowthFloor).count();
  const Kept* before = nullptr;
  const Kept* now = nullptr;  // the least of what is left of the time, at its latest moment
  std::int64_t most_let_go = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Kept& one = all[i];
    if (one.time < from) continue;
    if (i > 0 && all[i - 1].time >= from) most_let_go = std::max(most_let_go, all[i - 1].bytes - one.bytes);
    const Kept*& least = one.time < floor_from ? before : now;
    if (least == nullptr || one.bytes <= least->bytes) least = &one;
  }
  if (before == nullptr) return 0;
  const double over = seconds(now->time - before->time);
  const auto grown = now->bytes - before->bytes;
  if (over < std::chrono::duration<double>(History::kGrowthOverAtLeast).count() || grown <= most_let_go) return 0;
  return static_cast<double>(grown) / over;
}

}  // namespace

HistorySample History::sample() const {
  const auto status = board_.snapshot();
  const PgTime wall = clock_.wall();
  HistorySample taken;
  taken.time = wall;
  taken.state = status.state;
  taken.ready = status.not_ready.empty();
  taken.lag_seconds = metrics_.lag_seconds(wall);
  taken.lag_bytes = metrics_.lag_bytes();
  taken.retained_bytes = metrics_.slot_retained_bytes.value();
  taken.safe_bytes = metrics_.slot_safe_bytes.value();
  taken.events = settled_events(metrics_);
  taken.in_flight = metrics_.in_flight_events.value();
  return taken;
}

void History::take(Instant now) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  due_ = now + kInterval;
  ring_[taken_++ % kSamplesMax] = sample();
}

std::vector<HistorySample> History::samples() const {
  std::vector<HistorySample> copy;
  copy.reserve(kSamplesMax);
  const std::lock_guard lock(mutex_);
  for (auto i = taken_ - std::min(taken_, kSamplesMax); i < taken_; ++i) copy.push_back(ring_[i % kSamplesMax]);
  return copy;
}

std::optional<double> History::seconds_until_lost() const {
  const auto left = metrics_.slot_safe_bytes.value();
  const auto kept = metrics_.slot_retained_bytes.value();
  if (!left || !kept) return std::nullopt;
  if (*left <= 0) return 0.0;
  std::vector<Kept> all;
  for (const auto& one : samples()) {
    if (one.retained_bytes) all.push_back({one.time, *one.retained_bytes});
  }
  const PgTime now = clock_.wall();
  all.push_back({now, *kept});
  for (const auto window : kGrowthOver) {
    const double rate = growth(all, now - std::chrono::microseconds(window).count());
    if (rate <= 0) continue;
    const double until = static_cast<double>(*left) / rate;
    return until <= std::chrono::duration<double>(kLossToldWithin).count() ? std::optional(until) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace walrelay
