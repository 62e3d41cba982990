#include "connector/observe/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <optional>
#include <utility>

namespace walrelay {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

class Exposition {
 public:
  explicit Exposition(std::string slot) : slot_{"slot", std::move(slot)} {}

  void begin(std::string name, std::string help, MetricType type) {
    families_.push_back({std::move(name), std::move(help), type, {}});
  }

  ClientMetric& sample(std::vector<ClientMetric::Label> more_labels = {}) {
    auto& metric = families_.back().metric.emplace_back();
    metric.label = {slot_};
    metric.label.insert(metric.label.end(), more_labels.begin(), more_labels.end());
    return metric;
  }

  void gauge(std::string name, std::string help, double value) {
    begin(std::move(name), std::move(help), MetricType::Gauge);
    sample().gauge.value = value;
  }

  template <typename T>
  void gauge_if_known(std::string name, std::string help, const std::optional<T>& value, double unit = 1) {
    if (value) gauge(std::move(name), std::move(help), static_cast<double>(*value) * unit);
  }

  void counter(std::string name, std::string help, double value) {
    begin(std::move(name), std::move(help), MetricType::Counter);
    sample().counter.value = value;
  }

  [[nodiscard]] std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  ClientMetric::Label slot_;
  std::vector<MetricFamily> families_;
};

double as_double(const Counter& counter) { return static_cast<double>(counter.value()); }
double as_double(const Gauge& gauge) { return static_cast<double>(gauge.value()); }

double unix_seconds(PgTime time) { return static_cast<double>(time) / 1e6 + kPgEpochUnixSeconds; }

void add_positions(Exposition& out, const RelayMetrics& m, PgTime wall) {
  out.gauge_if_known("walrelay_lag_bytes", "WAL that the server has flushed and that is not confirmed yet",
                     m.lag_bytes());
  out.gauge_if_known("walrelay_lag_seconds", "Age of the oldest commit that is not confirmed, 0 if there is none",
                     m.lag_seconds(wall));
  out.gauge_if_known("walrelay_slot_retained_bytes", "WAL that the server keeps for the slot",
                     m.slot_retained_bytes.value());
  out.gauge_if_known("walrelay_slot_safe_bytes",
                     "WAL that may still be written before the slot can be lost, if max_slot_wal_keep_size is set",
                     m.slot_safe_bytes.value());
  out.gauge_if_known("walrelay_confirmed_lsn", "Position confirmed to the server, as a byte number",
                     m.confirmed_lsn.value());
  out.gauge_if_known("walrelay_frontier_lsn", "Position up to which every event is settled, as a byte number",
                     m.frontier_lsn.value());
  out.gauge_if_known("walrelay_server_wal_lsn",
                     "Position that the server has flushed (replayed in recovery), as a byte number",
                     m.server_wal_lsn.value());
}

void add_events(Exposition& out, const RelayIdentity& identity, const RelayMetrics& m) {
  out.begin("walrelay_events_total", "Outbox events by what became of them", MetricType::Counter);
  for (std::size_t outbox = 0; outbox < m.outbox_count(); ++outbox) {
    for (std::size_t result = 0; result < kEventResultNames.size(); ++result) {
      auto& sample =
          out.sample({{"outbox", identity.outboxes.at(outbox)}, {"result", std::string(kEventResultNames[result])}});
      sample.counter.value = static_cast<double>(m.events(outbox, static_cast<EventResult>(result)));
    }
  }
}

void add_invalid_traceparents(Exposition& out, const RelayIdentity& identity, const RelayMetrics& m) {
  out.begin("walrelay_invalid_traceparent_total", "Events sent with a header traceparent that no tracer would take",
            MetricType::Counter);
  for (std::size_t outbox = 0; outbox < m.outbox_count(); ++outbox) {
    auto& sample = out.sample({{"outbox", identity.outboxes.at(outbox)}});
    sample.counter.value = as_double(m.invalid_traceparents(outbox));
  }
}

void add_write_back(Exposition& out, const RelayIdentity& identity, const RelayMetrics& m) {
  out.begin("walrelay_write_back_rows_total",
            "Outbox rows to be marked, deleted or told of a failure, by what came of it", MetricType::Counter);
  for (std::size_t outbox = 0; outbox < m.outbox_count(); ++outbox) {
    for (std::size_t result = 0; result < kWriteBackResultNames.size(); ++result) {
      auto& sample = out.sample(
          {{"outbox", identity.outboxes.at(outbox)}, {"result", std::string(kWriteBackResultNames[result])}});
      sample.counter.value = static_cast<double>(m.write_back(outbox, static_cast<WriteBackResult>(result)));
    }
  }
  out.gauge("walrelay_write_back_pending_rows", "Rows to be written to that are in flight or due",
            as_double(m.write_back_pending));
}

void add_counts(Exposition& out, const RelayMetrics& m) {
  out.counter("walrelay_transactions_total", "Transactions with events that are settled", as_double(m.transactions));
  out.counter("walrelay_dead_letters_total", "Events that were sent to the dead letter topic",
              as_double(m.dead_letters));
  out.counter("walrelay_timestamps_replaced_total", "Events that carry the commit's time as their own was unusable",
              as_double(m.timestamps_replaced));
  out.counter("walrelay_unmapped_changes_total", "Changes of published tables that no [[outbox]] names",
              as_double(m.unmapped_changes));
  out.gauge("walrelay_in_flight_events", "Events handed to the sink and not acknowledged",
            as_double(m.in_flight_events));
  out.gauge("walrelay_in_flight_bytes", "Their keys and values, in bytes", as_double(m.in_flight_bytes));
}

void add_latency(Exposition& out, const LatencyHistogram& latency) {
  out.begin("walrelay_commit_to_ack_seconds", "From commit on the server to the sink's acknowledgement",
            MetricType::Histogram);
  auto& histogram = out.sample().histogram;
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < LatencyHistogram::kUpperBoundsSeconds.size(); ++i) {
    cumulative += latency.count_in_bucket(i);
    histogram.bucket.push_back({cumulative, LatencyHistogram::kUpperBoundsSeconds[i]});
  }
  cumulative += latency.count_in_bucket(LatencyHistogram::kUpperBoundsSeconds.size());
  histogram.bucket.push_back({cumulative, std::numeric_limits<double>::infinity()});
  histogram.sample_count = cumulative;
  histogram.sample_sum = static_cast<double>(latency.sum_us()) / 1e6;
}

void add_connections(Exposition& out, const RelayMetrics& m, Instant now) {
  out.gauge("walrelay_replication_connected", "1 while the replication connection is up",
            as_double(m.replication_connected));
  out.gauge("walrelay_active", "1 streaming, 0 standby", as_double(m.active));
  out.begin("walrelay_reconnects_total", "Times a side had to be connected to again", MetricType::Counter);
  out.sample({{"side", "source"}}).counter.value = as_double(m.reconnects_source);
  out.sample({{"side", "sink"}}).counter.value = as_double(m.reconnects_sink);
  out.counter("walrelay_backpressure_seconds_total", "Time for which reading was paused because the sink was behind",
              std::chrono::duration<double>(m.backpressure.total(now)).count());
  out.gauge_if_known("walrelay_sink_queue_events", "Events that wait in the sink's client library",
                     m.sink_queue_events.value());
  out.gauge_if_known("walrelay_sink_round_trip_seconds", "Mean round trip to the sink", m.sink_round_trip_us.value(),
                     1e-6);
}

void add_retention(Exposition& out, const RelayIdentity& identity, const RelayMetrics& m) {
  const auto family = [&](std::string name, std::string help, MetricType type, const auto& value_of) {
    bool begun = false;
    for (std::size_t outbox = 0; outbox < m.outbox_count(); ++outbox) {
      const auto& retention = m.retention(outbox);
      const std::optional<double> value = value_of(retention);
      if (retention.wanted.value() == 0 || !value) continue;
      if (!std::exchange(begun, true)) out.begin(name, help, type);
      auto& sample = out.sample({{"outbox", identity.outboxes.at(outbox)}});
      (type == MetricType::Counter ? sample.counter.value : sample.gauge.value) = *value;
    }
  };
  using Of = const RetentionMetrics&;
  family("walrelay_retention_deleted_rows_total", "Published rows that were deleted", MetricType::Counter,
         [](Of r) { return std::optional(as_double(r.deleted_rows)); });
  family("walrelay_retention_dropped_partitions_total", "Partitions of published rows that were dropped",
         MetricType::Counter, [](Of r) { return std::optional(as_double(r.dropped_partitions)); });
  family("walrelay_retention_errors_total", "Runs of retention that failed", MetricType::Counter,
         [](Of r) { return std::optional(as_double(r.errors)); });
  family("walrelay_retention_last_run_timestamp_seconds", "End of the last run of retention that was not cut short",
         MetricType::Gauge,
         [](Of r) { return r.last_run.value() ? std::optional(unix_seconds(*r.last_run.value())) : std::nullopt; });
}

}  // namespace

std::string metrics_text(const RelayIdentity& identity, const RelayMetrics& metrics, const Clock& clock, bool ready) {
  Exposition out(identity.slot);
  add_positions(out, metrics, clock.wall());
  add_events(out, identity, metrics);
  add_invalid_traceparents(out, identity, metrics);
  add_write_back(out, identity, metrics);
  add_counts(out, metrics);
  add_latency(out, metrics.commit_to_ack);
  add_connections(out, metrics, clock.now());
  add_retention(out, identity, metrics);
  out.gauge("walrelay_ready", "1 if /readyz answers 200", ready ? 1 : 0);
  out.gauge("walrelay_start_time_seconds", "When the process began, in Unix time", unix_seconds(identity.started));
  out.begin("walrelay_build_info", "1; the version is a label", MetricType::Gauge);
  out.sample({{"version", identity.version}}).gauge.value = 1;
  return out.text();
}

}  // namespace walrelay
