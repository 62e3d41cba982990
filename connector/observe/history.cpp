#include "connector/observe/history.h"

#include <algorithm>

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
  const auto all = samples();
  const PgTime now = clock_.wall();
  const auto from = now - std::chrono::microseconds(kGrowthOver).count();
  const auto first =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.time >= from && one.retained_bytes; });
  if (first == all.end()) return std::nullopt;
  const double over = seconds(now - first->time);
  const auto grown = static_cast<double>(*kept - first->retained_bytes.value_or(*kept));
  if (over < std::chrono::duration<double>(kGrowthOverAtLeast).count() || grown <= 0) return std::nullopt;
  return static_cast<double>(*left) * over / grown;
}

}  // namespace walrelay
