#pragma once
// What the relay counts. Written by the loop thread only, read by any; relaxed atomics, so that counting costs the loop
// an ordinary store. Values at one scrape may belong to moments microseconds apart.
//
//   RelayMetrics m(3);
//   m.confirmed_lsn.set(lsn);
//   m.transactions.add(1);
//   m.events(outbox, EventResult::delivered).add(1);
//
// What is not known is absent, never 0: such values are OptionalGauge and have to be cleared when the server goes away.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "connector/clock.h"
#include "decoder/lsn.h"

namespace walrelay {

// Only grows. One writer, hence no read-modify-write instruction.
class Counter {
 public:
  void add(std::uint64_t n) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

// Always known; 0 at first.
class Gauge {
 public:
  void set(std::uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

// Unknown at first and after clear().
class OptionalGauge {
 public:
  void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void set(Lsn lsn) { set(static_cast<std::int64_t>(lsn.value)); }
  void clear() { set(kUnknown); }
  [[nodiscard]] std::optional<std::int64_t> value() const {
    const auto value = value_.load(std::memory_order_relaxed);
    return value == kUnknown ? std::nullopt : std::optional(value);
  }

 private:
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();
  std::atomic<std::int64_t> value_ = kUnknown;
};

// How long something has lasted in all, the current time included. Both states are kept in one word, so that a reader
// never sees the total go back: the total in nanoseconds while stopped, -1 - (start - total) while running.
class Stopwatch {
 public:
  void start(Instant now);  // nothing if running
  void stop(Instant now);   // nothing if stopped
  [[nodiscard]] Duration total(Instant now) const;
  [[nodiscard]] bool running() const { return state_.load(std::memory_order_relaxed) < 0; }

 private:
  std::atomic<std::int64_t> state_ = 0;
};

// The last sign of life of the loop.
class Heartbeat {
 public:
  void beat(Instant now) { last_.store(now.time_since_epoch().count(), std::memory_order_relaxed); }
  // 0 before the first beat.
  [[nodiscard]] Duration age(Instant now) const;

 private:
  static constexpr Instant::rep kNever = std::numeric_limits<Instant::rep>::min();
  std::atomic<Instant::rep> last_ = kNever;
};

// From commit (the server's clock) to acknowledgement (ours).
class LatencyHistogram {
 public:
  static constexpr std::array<double, 16> kUpperBoundsSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                                 0.5,   1,      2.5,   5,    10,    30,   60,  300};
  // Negative ones, seen where the clocks of the two machines differ, count as 0.
  void observe(std::chrono::microseconds latency, std::uint64_t times = 1);

  [[nodiscard]] std::uint64_t count_in_bucket(std::size_t i) const { return buckets_[i].value(); }  // not cumulative
  [[nodiscard]] std::uint64_t sum_us() const { return sum_us_.value(); }

 private:
  std::array<Counter, kUpperBoundsSeconds.size() + 1> buckets_;  // the last: above all bounds
  Counter sum_us_;
};

enum class EventResult : std::uint8_t { delivered, dead_letter, skipped, ignored };
inline constexpr std::array<std::string_view, 4> kEventResultNames = {"delivered", "dead_letter", "skipped", "ignored"};

// Of a row that write-back was to write to. unchanged: it was deleted, or marked, by somebody else or before a crash.
enum class WriteBackResult : std::uint8_t { written, unchanged, failed };
inline constexpr std::array<std::string_view, 3> kWriteBackResultNames = {"written", "unchanged", "failed"};

// Of one [[outbox]] with [outbox.retention].
struct RetentionMetrics {
  Gauge wanted;  // 1: there is one; else nothing of this is shown
  Counter deleted_rows;
  Counter dropped_partitions;
  Counter errors;
  OptionalGauge last_run;  // PgTime, of the last that was not cut short
};

struct RelayMetrics {
  explicit RelayMetrics(std::size_t outbox_count)
      : events_(outbox_count),
        write_back_(outbox_count),
        invalid_traceparents_(outbox_count),
        retention_(outbox_count) {}

  // Positions, in bytes. server_wal_lsn: the server's flush position, its replay position in recovery; cleared while
  // neither connection is there to tell.
  OptionalGauge confirmed_lsn;
  OptionalGauge frontier_lsn;
  OptionalGauge server_wal_lsn;
  OptionalGauge slot_retained_bytes;
  OptionalGauge slot_safe_bytes;  // may still be written before the slot can be lost; cleared where there is no limit

  // The commit time (PgTime) of the oldest transaction with events that is not confirmed. kNoCommitWaiting: there is
  // none. Cleared: not known (a standby, before the first session, between two sessions if nothing was waiting). Kept
  // while the relay has disconnected because of the sink.
  static constexpr PgTime kNoCommitWaiting = std::numeric_limits<PgTime>::max();
  OptionalGauge oldest_unconfirmed_commit;

  Counter transactions;  // with at least one event, settled and confirmed
  Gauge in_flight_events;
  Gauge in_flight_bytes;
  LatencyHistogram commit_to_ack;
  Gauge replication_connected;  // 0 or 1
  Gauge active;                 // 1 streaming, 0 standby
  Counter reconnects_source;
  Counter reconnects_sink;  // a new producer after a fatal error
  Stopwatch backpressure;   // reading paused
  Counter dead_letters;
  Counter timestamps_replaced;  // NULL, infinite or out of Kafka's range: the commit's time was taken
  Counter unmapped_changes;     // of published tables that no [[outbox]] names

  OptionalGauge sink_queue_events;
  OptionalGauge sink_round_trip_us;

  Heartbeat heartbeat;

  // `outbox`: index of the [[outbox]].
  [[nodiscard]] Counter& events(std::size_t outbox, EventResult result) {
    return events_.at(outbox)[static_cast<std::size_t>(result)];
  }
  [[nodiscard]] std::uint64_t events(std::size_t outbox, EventResult result) const {
    return events_.at(outbox)[static_cast<std::size_t>(result)].value();
  }
  Gauge write_back_pending;  // rows of events in flight, and those that are due
  [[nodiscard]] Counter& write_back(std::size_t outbox, WriteBackResult result) {
    return write_back_.at(outbox)[static_cast<std::size_t>(result)];
  }
  [[nodiscard]] std::uint64_t write_back(std::size_t outbox, WriteBackResult result) const {
    return write_back_.at(outbox)[static_cast<std::size_t>(result)].value();
  }
  // Events whose header traceparent no tracer would take; they are sent as they are.
  [[nodiscard]] Counter& invalid_traceparents(std::size_t outbox) { return invalid_traceparents_.at(outbox); }
  [[nodiscard]] const Counter& invalid_traceparents(std::size_t outbox) const {
    return invalid_traceparents_.at(outbox);
  }
  [[nodiscard]] RetentionMetrics& retention(std::size_t outbox) { return retention_.at(outbox); }
  [[nodiscard]] const RetentionMetrics& retention(std::size_t outbox) const { return retention_.at(outbox); }
  [[nodiscard]] std::size_t outbox_count() const { return events_.size(); }

  // Server's position minus the confirmed one, never negative; absent while the server is away or nothing was confirmed
  // yet.
  [[nodiscard]] std::optional<std::uint64_t> lag_bytes() const;
  // Age of the oldest commit that is not confirmed, 0 if there is none; absent while the server is away and on a
  // standby. Grows by itself: it is computed from the commit's time at the moment of the call.
  [[nodiscard]] std::optional<double> lag_seconds(PgTime now) const;

 private:
  std::vector<std::array<Counter, kEventResultNames.size()>> events_;
  std::vector<std::array<Counter, kWriteBackResultNames.size()>> write_back_;
  std::vector<Counter> invalid_traceparents_;
  std::vector<RetentionMetrics> retention_;
};

}  // namespace walrelay
