// What the supervisor tells the outside each step, and what it sleeps on.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connector/commands/command_support.h"
#include "connector/observe/log.h"
#include "connector/postgres/pg_quote.h"
#include "connector/postgres/slot_verdict.h"
#include "connector/sink_factory.h"
#include "connector/supervisor.h"

namespace walrelay {
namespace {

void set_if_known(OptionalGauge& gauge, const std::optional<std::int64_t>& value) {
  if (value) {
    gauge.set(*value);
  } else {
    gauge.clear();
  }
}

}  // namespace

void Supervisor::report(Instant now) {
  auto& metrics = parts_.metrics;
  if (const auto& facts = watch_.facts()) {
    metrics.server_wal_lsn.set(facts->position);
    set_if_known(metrics.slot_retained_bytes, facts->slot ? facts->slot->retained_bytes : std::nullopt);
    set_if_known(metrics.slot_safe_bytes, facts->slot ? facts->slot->safe_bytes : std::nullopt);
    if (phase_ == Phase::standby && facts->slot) metrics.confirmed_lsn.set(facts->slot->confirmed);
  } else {
    metrics.server_wal_lsn.clear();
    metrics.slot_retained_bytes.clear();
    metrics.slot_safe_bytes.clear();
  }
  report_wal_status();
  if (!relay_) {
    metrics.oldest_unconfirmed_commit.clear();
    metrics.in_flight_events.set(0);
    metrics.in_flight_bytes.set(0);
    metrics.backpressure.stop(now);
  }
  report_statistics(now);
  report_sink(now);
  report_stall(now);
  report_queries(now);
  report_publication();
}

void Supervisor::report_wal_status() {
  static const std::string unknown;
  const auto& facts = watch_.facts();
  const auto& status = facts && facts->slot ? facts->slot->wal_status : unknown;
  if (status == wal_status_) return;
  wal_status_ = status;
  parts_.board.set_wal_status(status);
}

// Asking librdkafka takes its locks, so not with every step.
void Supervisor::report_statistics(Instant now) {
  if (now < statistics_due_) return;
  statistics_due_ = now + kStatisticsInterval;
  const auto statistics = sink_->statistics();
  if (statistics.queue_events)
    parts_.metrics.sink_queue_events.set(static_cast<std::int64_t>(*statistics.queue_events));
  if (statistics.round_trip) parts_.metrics.sink_round_trip_us.set(statistics.round_trip->count());
}

// Not ready at once, but a warning only if it lasts: each new client needs a moment to connect, and then knows why not.
void Supervisor::report_sink(Instant now) {
  auto health = sink_->health();
  if (health.reachable) {
    if (!sink_away_since_) return;
    sink_away_since_.reset();
    sink_trouble_.clear();
    parts_.board.unblock(ReadySubject::sink);
    return log_info("sink_connected", "the sink can be reached");
  }
  if (!sink_away_since_) sink_away_since_ = now;
  if (health.why == sink_trouble_) return;
  parts_.board.block(ReadySubject::sink, health.why);
  if (now - *sink_away_since_ < kAwayTold) return;
  parts_.board.set_last_error(health.why, parts_.clock.wall());
  if (sink_trouble_.empty()) log_warning("sink_away", health.why);
  sink_trouble_ = std::move(health.why);
}

// A broker that takes connections and answers nothing can be reached for long, as far as its client knows.
void Supervisor::report_stall(Instant now) {
  const Duration limit = std::min<Duration>(kStallShown, parts_.config.delivery.stall_disconnect);
  const bool stalled = relay_ && relay_->stalled_for(now) >= limit;
  if (std::exchange(stalled_, stalled) == stalled) return;
  if (!stalled) return parts_.board.unblock(ReadySubject::stream);
  parts_.board.block(
      ReadySubject::stream,
      fmt::format("{} has acknowledged nothing for {} s; {} events are in flight", describe_sink(parts_.config.sink),
                  std::chrono::duration_cast<std::chrono::seconds>(limit).count(), sink_->in_flight_events()));
}

std::string Supervisor::not_published(const std::string& table) const {
  const auto& publication = parts_.config.postgres.publication;
  return fmt::format(
      "table \"{}\" is not in publication \"{}\": its events are not relayed; remedy: correct the table's name, or "
      "ALTER "
      "PUBLICATION {} ADD TABLE {}",
      table, publication, quote_identifier(publication), quote_table(table));
}

// A stream goes on without the ordinary connection; lag, a shutdown and the slot's state are not seen then.
void Supervisor::report_queries(Instant now) {
  if (watch_.facts() || phase_ != Phase::streaming) {
    if (!queries_away_since_) return;
    parts_.board.unblock(ReadySubject::queries);
    if (watch_.facts() && now - *queries_away_since_ >= kAwayTold) {
      told_.clear();
      log_info("queries_connected", "the ordinary connection is back");
    }
    queries_away_since_.reset();
    return;
  }
  if (!queries_away_since_) queries_away_since_ = now;
  const auto& why = watch_.failure().message;
  if (now - *queries_away_since_ < kAwayTold || why.empty()) return;
  parts_.board.block(ReadySubject::queries, why);
  if (told_.worth_telling(why, now)) log_warning("queries_away", why);
}

void Supervisor::report_publication() {
  const auto& missing = watch_.unpublished();
  const auto& facts = watch_.facts();
  if (exit_ || !missing || !facts) return;
  auto fault = publication_fault(*facts, parts_.config.postgres.publication);
  if (*missing == unpublished_ && fault == publication_fault_) return;
  unpublished_ = *missing;
  publication_fault_ = std::move(fault);
  std::vector<std::string> reasons;
  if (!publication_fault_.empty()) {
    reasons.push_back(publication_fault_);
    log_error("publication_unfit", publication_fault_);
  }
  for (const auto& table : unpublished_) {
    reasons.push_back(not_published(table));
    log_error("table_not_published", reasons.back(),
              {{"table", table}, {"publication", parts_.config.postgres.publication}});
  }
  if (reasons.empty()) return parts_.board.unblock(ReadySubject::publication);
  parts_.board.block(ReadySubject::publication, join(reasons, "; "));
}

void Supervisor::sleep(Instant now) {
  Instant deadline = std::min({watch_.deadline(), retention_.deadline(), now + kSleepMax});
  if (relay_) deadline = std::min(deadline, relay_->deadline());
  if (write_back_) deadline = std::min(deadline, write_back_->deadline());
  if (const auto look = pace_.deadline()) deadline = std::min(deadline, *look);
  if (phase_ == Phase::backing_off) deadline = std::min(deadline, retry_at_);
  if (phase_ == Phase::reading_loss) deadline = std::min(deadline, loss_deadline_);
  if (phase_ == Phase::finishing) deadline = std::min(deadline, finish_deadline_);
  poll_.clear();
  const auto signals = poll_.add(parts_.signals.descriptor());
  // At a steady rate the next rows bring the acks of these along, which spares a wake-up for each.
  const bool acks_wait = work_.frames > 0 && settled();
  if (acks_wait) {
    deadline = std::min(deadline, now + kAcksWait);
  } else {
    poll_.add(sink_->descriptor());
  }
  const auto watch = poll_.add(watch_.descriptor(), watch_.wants_write());
  poll_.add(retention_.descriptor(), retention_.wants_write());
  const auto write_back = write_back_ ? poll_.add(write_back_->descriptor(), write_back_->wants_write()) : 0;
  // A connection that waits to be started is not read, so its end would wake the loop without end.
  const bool reading =
      source_ &&
      (phase_ == Phase::streaming ? relay_->reading() : source_->phase() != ReplicationSource::Phase::identified);
  if (reading) poll_.add(source_->descriptor(), source_->wants_write());
  // A paused socket is left alone unless something waits to be written: its hang-up would wake the loop without end.
  if (source_ && !reading && source_->wants_write()) poll_.add_write_only(source_->descriptor(), true);
  poll_.wait(deadline - now);
  watch_readable_ = poll_.readable(watch);
  write_back_readable_ = write_back_ && poll_.readable(write_back);
  signals_readable_ = poll_.readable(signals);
}

// Without the source's descriptor and the sink's, which would end the pause at once.
void Supervisor::gather() {
  poll_.clear();
  const auto signals = poll_.add(parts_.signals.descriptor());
  poll_.wait(ReadPace::pause(source_->transport(), relay_->backlog()));
  signals_readable_ = poll_.readable(signals);
}

}  // namespace walrelay
