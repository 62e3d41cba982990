#include "connector/supervisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "connector/commands/command_support.h"
#include "connector/observe/log.h"
#include "connector/postgres/pg_error.h"
#include "connector/postgres/slot_verdict.h"
#include "connector/progress_verdict.h"
#include "connector/session_start.h"

namespace walrelay {

namespace {

constexpr Duration kFinishTimeout = std::chrono::seconds(1);
constexpr Duration kShutdownGrace = std::chrono::seconds(2);
constexpr std::size_t kCollectedMax = 4096;  // in a step

std::vector<std::string> tables_of(const Config& config) {
  std::vector<std::string> tables;
  for (const auto& outbox : config.outboxes) {
    if (!outbox.table.empty()) tables.push_back(outbox.table);
  }
  return tables;
}

std::string progress_refused(const std::string& why) {
  return fmt::format(
      "the progress record cannot be written, and without it nothing may be confirmed: {}; or do without it by "
      "delivery.progress_topic = \"\"",
      why);
}

// A flush position may stand behind the header of a page that no record has reached yet; no stream position ever does.
Lsn before_page_header(Lsn position) {
  constexpr std::uint64_t kPageBytes = 8192;
  constexpr std::uint64_t kHeaderBytesMax = 40;
  const auto in_page = position.value % kPageBytes;
  return in_page <= kHeaderBytesMax ? Lsn{position.value - in_page} : position;
}

}  // namespace

Supervisor::Supervisor(SupervisorParts parts, std::uint64_t seed)
    : parts_(std::move(parts)),
      watch_([this] { return query_conninfo(parts_.connection()); }, parts_.config.postgres.slot,
             parts_.config.postgres.publication, tables_of(parts_.config), seed),
      sink_(parts_.make_sink()),
      backoff_({}, seed + 1),
      sink_backoff_({}, seed + 2) {}

ExitCode Supervisor::run(bool drain) {
  drain_requested_ = drain;
  while (!exit_) {
    const Instant now = parts_.clock.now();
    parts_.metrics.heartbeat.beat(now);
    parts_.on_turn(now);
    step(now);
    report(now);
    const bool busy = pace_.busy_after(work_.frames, now);
    if (exit_) break;
    if (!work_.idle() && busy && work_.drained_source && phase_ == Phase::streaming) {
      gather();
    } else if (settled() || (work_.idle() && !unread())) {
      sleep(now);
    }
  }
  return *exit_;
}

void Supervisor::step(Instant now) {
  take_signals(now);
  watch_.step(now, watch_readable_);
  // Without a relay the sink is still to take in its errors and answers, or a standby would not know that it is there.
  work_ = relay_ ? relay_->step(now) : StepResult{.deliveries = sink_->collect(kCollectedMax).size()};
  switch (phase_) {
    case Phase::waiting:
    case Phase::standby:
      return wait_for_facts(now);
    case Phase::backing_off:
      if (now >= retry_at_) {
        watch_.refresh(now);
        facts_wanted_since_ = now;
        enter(Phase::waiting, RelayState::connecting);
      }
      return;
    case Phase::connecting:
      return connect(now);
    case Phase::reading_loss:
      return tell_loss(now);
    case Phase::reading_progress:
      return read_progress();
    case Phase::streaming:
      return stream(now);
    case Phase::finishing:
      return finish(now);
    case Phase::waiting_for_sink:
      return wait_for_sink(now);
  }
}

// After the start of a stream, and after an answer that reading waited for, what has come already is in libpq's buffer,
// where no descriptor tells of it.
bool Supervisor::unread() const { return phase_ == Phase::streaming && !work_.drained_source && relay_->reading(); }

// Nothing is to be done before something comes: the last step left nothing for another one.
bool Supervisor::settled() const {
  return phase_ == Phase::streaming && work_.drained_source && relay_->reading() && !signal_ && !drain_requested_;
}

void Supervisor::take_signals(Instant now) {
  if (!signals_readable_ && now < signals_due_) return;
  signals_due_ = now + kSignalsInterval;
  while (const auto signal = parts_.signals.take()) {
    const auto code = *signal == SIGINT ? ExitCode::interrupted : ExitCode::terminated;
    if (signal_) return stop(code, "ended by a second signal; nothing more is confirmed");
    signal_ = signal;
    exit_after_finish_ = code;
    log_info("draining", "asked to stop: waiting for what is in flight",
             {{"in_flight", sink_->in_flight_events()}, {"at_most_ms", parts_.config.delivery.drain_timeout.count()}});
    if (!relay_ || phase_ != Phase::streaming) {
      stop(code, "");
      return;
    }
    parts_.board.set_state(RelayState::draining, parts_.clock.wall());
    relay_->drain(now + parts_.config.delivery.drain_timeout);
  }
}

// ---- from facts to a stream -----------------------------------------------------------------------------------------

void Supervisor::wait_for_facts(Instant now) {
  const auto& facts = watch_.facts();
  if (!facts) {
    const auto& failure = watch_.failure();
    if (failure.message.empty()) return;
    if (classify(failure.sqlstate, failure.message) == PgTrouble::permanent) {
      return stop(ExitCode::cannot_start, failure.message);
    }
    if (std::exchange(last_logged_, failure.message) != failure.message) log_warning("server_away", failure.message);
    parts_.board.block(ReadySubject::server, failure.message);
    enter(Phase::waiting, RelayState::connecting);
    return;
  }
  if (facts->as_of < facts_wanted_since_) return;
  if (drain_requested_ && !drain_target_) drain_target_ = before_page_header(facts->position);
  if (slot_is_usable(*facts)) open_session(now);
}

bool Supervisor::slot_is_usable(const ServerFacts& facts) {
  const auto& postgres = parts_.config.postgres;
  const SlotVerdict verdict = judge_slot(facts, postgres.slot, postgres.publication, parts_.router.wants_messages());
  switch (verdict.kind) {
    case SlotVerdict::Kind::usable:
      return true;
    case SlotVerdict::Kind::taken:
      watch_.refresh_by(facts.as_of + kStandbyInterval);
      // Our own connection that broke: the server has not noticed yet. No other instance is at work, so we are not
      // ready.
      if (facts.slot->active_pid == own_walsender_) return false;
      if (phase_ != Phase::standby) log_info("standby", verdict.reason, {{"slot", postgres.slot}});
      parts_.board.unblock(ReadySubject::server);
      gap_seen_ = false;
      enter(Phase::standby, RelayState::standby);
      return false;
    case SlotVerdict::Kind::not_yet:
      if (std::exchange(last_logged_, verdict.reason) != verdict.reason)
        log_warning("server_is_standby", verdict.reason);
      parts_.board.block(ReadySubject::server, verdict.reason);
      enter(Phase::waiting, RelayState::connecting);
      return false;
    case SlotVerdict::Kind::unusable:
      stop(ExitCode::cannot_start, verdict.reason);
      return false;
    case SlotVerdict::Kind::lost:
      loss_ = verdict.reason;
      loss_deadline_ = parts_.clock.now() + kLossReadMax;
      enter(Phase::reading_loss, RelayState::connecting);
      return false;
  }
  return false;
}

// A table that goes missing later is told, and does not stop the others. At the first session it is a mistyped name as
// a rule: the rows of the right table would be passed over as nobody's, and confirmed.
bool Supervisor::starts_with_all_tables() {
  const bool first_session = epoch_ == 0;
  const auto& missing = watch_.unpublished();
  if (!first_session || (missing && missing->empty())) return true;
  if (!missing) return false;  // being asked
  unpublished_ = *missing;     // told here
  stop(ExitCode::cannot_start, not_published(missing->front()));
  return false;
}

void Supervisor::open_session(Instant now) {
  source_.emplace(replication_conninfo(parts_.connection().dsn, parts_.config.postgres.slot), now);
  enter(Phase::connecting, RelayState::connecting);
  connect(now);
}

void Supervisor::connect(Instant now) {
  switch (source_->advance(now)) {
    case ReplicationSource::Phase::identified:
      if (starts_with_all_tables()) choose_relay();
      return;
    case ReplicationSource::Phase::streaming:
      return begin_streaming(now);
    case ReplicationSource::Phase::ended:
      return source_ended(now);
    default:
      return;
  }
}

void Supervisor::tell_loss(Instant now) {
  const StoredProgress progress = sink_->read_progress(parts_.config.postgres.slot);
  if (progress.state == StoredProgress::State::pending && now < loss_deadline_) return;
  const auto record = choose_progress(progress.records);
  stop(ExitCode::slot_lost, record ? fmt::format("{}; {}", loss_, what_was_delivered(*record)) : loss_);
}

void Supervisor::choose_relay() {
  const auto& facts = watch_.facts();
  if (!facts || !facts->slot) {  // gone in the meantime: ask again
    source_.reset();
    return enter(Phase::waiting, RelayState::connecting);
  }
  slot_position_ = facts->slot->confirmed;
  const ServerHistory& history = source_->history();
  const bool goes_on =
      relay_ && history_ && history.continues(*history_) && may_resume(*relay_, slot_position_, history.flushed);
  if (goes_on) return start_stream();
  enter(Phase::reading_progress, RelayState::connecting);
  read_progress();
}

void Supervisor::read_progress() {
  const StoredProgress progress = sink_->read_progress(parts_.config.postgres.slot);
  switch (progress.state) {
    case StoredProgress::State::pending:
      return;
    case StoredProgress::State::refused:
      return stop(ExitCode::cannot_start, progress.reason);
    case StoredProgress::State::unsupported:
      return new_relay(RelayOptions{.delivery = parts_.config.delivery});
    case StoredProgress::State::ready:
      break;
  }
  const std::string& slot = parts_.config.postgres.slot;
  auto verdict = judge_progress(progress.records, slot, slot_position_, source_->history());
  if (!verdict.gap.empty()) return on_gap(verdict.gap);
  if (progress.records.empty()) {
    log_info("no_progress_record",
             "there is no progress record of this slot yet: streaming starts where the slot stands",
             {{"slot", slot}, {"topic", parts_.config.delivery.progress_topic}, {"from", slot_position_}});
  }
  new_relay({.delivery = parts_.config.delivery, .progress = std::move(verdict.gate), .covered = verdict.covered});
}

// Another instance may have been at work between our looks at the server and at the record. So a gap has to be seen
// twice, after a pause in which such an instance would show.
void Supervisor::on_gap(const std::string& gap) {
  if (std::exchange(gap_seen_, true)) return stop(ExitCode::slot_lost, gap);
  source_.reset();
  retry_at_ = parts_.clock.now() + kSecondLook;
  enter(Phase::backing_off, RelayState::connecting);
}

void Supervisor::new_relay(RelayOptions options) {
  epoch_ = static_cast<std::uint16_t>(epoch_ % DeliveryTag::kEpochMax + 1);
  relay_.emplace(std::move(options), parts_.router, *sink_, parts_.metrics, parts_.clock, slot_position_, epoch_);
  start_stream();
}

void Supervisor::start_stream() {
  history_ = source_->history();
  enter(Phase::connecting, RelayState::connecting);
  const bool messages = parts_.router.wants_messages() && source_->server_version() >= 140000;
  source_->start(parts_.config.postgres.slot, parts_.config.postgres.publication, messages, relay_->resume_position());
}

void Supervisor::begin_streaming(Instant now) {
  relay_->begin_session(*source_,
                        watch_.facts() ? watch_.facts()->wal_sender_timeout : std::chrono::milliseconds(60'000), now);
  backoff_.reset();
  last_logged_.clear();
  own_walsender_ = source_->backend_pid();
  gap_seen_ = false;
  enter(Phase::streaming, RelayState::streaming);
  parts_.board.unblock(ReadySubject::server);
  const int version = source_->server_version();
  parts_.board.set_server(
      {watch_.target().to_string(), fmt::format("{}.{}", version / 10000, version % 10000), source_->tls()});
  parts_.metrics.replication_connected.set(1);
  parts_.metrics.active.set(1);
  log_info(
      "streaming_started", "streaming from the slot",
      {{"slot", parts_.config.postgres.slot}, {"from", relay_->resume_position()}, {"confirmed", relay_->confirmed()}});
}

// ---- while streaming ------------------------------------------------------------------------------------------------

void Supervisor::stream(Instant now) {
  if (relay_->end() != RelayEnd::none) return handle_relay_end(now);
  resolve_relation();
  check_drain_target(now);
  make_way(now);
}

void Supervisor::resolve_relation() {
  const auto& unresolved = relay_->unresolved();
  if (!unresolved) {
    asked_for_.reset();
    return;
  }
  if (asked_for_ != unresolved->relation_id) {
    asked_for_ = unresolved->relation_id;
    watch_.look_up(unresolved->relation_id);
  }
  const auto answer = watch_.take_ancestry();
  if (!answer || answer->relation_id != unresolved->relation_id) return;
  if (answer->exists) {
    relay_->resolve(answer->ancestor);
  } else {
    relay_->cannot_resolve();
  }
}

void Supervisor::check_drain_target(Instant now) {
  if (drain_target_ && relay_->confirmed() >= *drain_target_) relay_->drain(now + parts_.config.delivery.drain_timeout);
}

// A server that shuts down waits for us; one whose shutdown we cannot see is not to wait for a sink that is away.
void Supervisor::make_way(Instant now) {
  const auto shutdown = watch_.shutdown_since();
  if (shutdown && now - *shutdown >= kShutdownGrace) {
    log_info("server_shutting_down", "the server shuts down: disconnecting, so that it need not wait",
             {{"in_flight", sink_->in_flight_events()}});
    return finish_session(Phase::backing_off, now);
  }
  if (relay_->stalled_for(now) >= parts_.config.delivery.stall_disconnect) {
    log_warning("sink_stalled",
                "nothing was acknowledged for stall_disconnect: disconnecting from the server until the sink is back",
                {{"in_flight", sink_->in_flight_events()}, {"why", sink_->health().why}});
    return finish_session(Phase::waiting_for_sink, now);
  }
  const auto timeout = watch_.facts() ? watch_.facts()->wal_sender_timeout : std::chrono::milliseconds(60'000);
  if (timeout.count() > 0 && relay_->silent_for(now) >= timeout * 3 / 2) {
    end_session();
    back_off(fmt::format("{}: nothing came for {} ms although the server was asked to answer",
                         watch_.target().to_string(), (timeout * 3 / 2).count()),
             now);
  }
}

void Supervisor::handle_relay_end(Instant now) {
  const std::string why = relay_->end_reason();
  switch (relay_->end()) {
    case RelayEnd::none:
      return;
    case RelayEnd::source_ended:
      return source_ended(now);
    case RelayEnd::protocol:
      end_session();
      return back_off(why, now);
    case RelayEnd::other_history:
      end_session();
      relay_.reset();
      return back_off(why, now);
    case RelayEnd::gap:
      end_session();
      return stop(ExitCode::slot_lost, fmt::format("{}; {}", why, kWayOutOfGap));
    case RelayEnd::progress_refused:
      end_session();
      return stop(ExitCode::cannot_start, progress_refused(why));
    case RelayEnd::sink_fatal:  // first tell the server what is settled, so that no more than the rest is sent again
      return finish_session(Phase::backing_off, now);
    case RelayEnd::poison:
      log_error("halted", why);
      parts_.board.set_last_error(why, parts_.clock.wall());
      exit_after_finish_ = ExitCode::poison;
      return finish_session(Phase::waiting, now);
    case RelayEnd::drained:
      if (!relay_->idle()) {
        log_warning("drain_timeout", "stopping although events are in flight: they are sent again after the next start",
                    {{"in_flight", sink_->in_flight_events()}});
      }
      return finish_session(Phase::waiting, now);
  }
}

void Supervisor::source_ended(Instant now) {
  const SourceError error = source_->error();
  const SourceEnd end = source_->end();
  end_session();
  if (end == SourceEnd::error && relay_ && sounds_like_oversized_row(error.sqlstate, error.message)) {
    return stop(ExitCode::poison, row_cannot_be_sent(error, parts_.config.postgres.slot, relay_->resume_position(),
                                                     relay_->half_received(), relay_->events_half_received()));
  }
  if (end == SourceEnd::error && error.sqlstate == "55006") {
    facts_wanted_since_ = now;
    retry_at_ = now + backoff_.next();
    return enter(Phase::backing_off, RelayState::standby);
  }
  if (end == SourceEnd::error && publication_missing_in_history(error)) {
    return stop(ExitCode::cannot_start, publication_younger_than_slot(error, parts_.config.postgres));
  }
  if (end == SourceEnd::error && classify(error.sqlstate, error.message) == PgTrouble::permanent) {
    return stop(ExitCode::cannot_start, error.message);
  }
  back_off(error.message, now);
}

void Supervisor::replace_sink(const std::string& why) {
  const Instant now = parts_.clock.now();
  // A sink that fails at once each time, like a full disk, is not to be tried at full speed.
  if (relay_->confirmed() > sink_failed_at_) sink_backoff_.reset();
  sink_failed_at_ = relay_->confirmed();
  log_error("sink_failed", why, {{"frontier", relay_->confirmed()}});
  parts_.board.set_last_error(why, parts_.clock.wall());
  relay_.reset();
  sink_.reset();
  sink_ = parts_.make_sink();
  parts_.metrics.reconnects_sink.add(1);
  back_off("the sink failed: a new one is made, and everything that is not confirmed is sent again", now);
  retry_at_ = now + sink_backoff_.next();
}

// ---- the end of a session -------------------------------------------------------------------------------------------

void Supervisor::finish_session(Phase next, Instant now) {
  relay_->send_final_status(now);
  relay_->end_session();
  source_->finish();
  after_finish_ = next;
  finish_deadline_ = now + kFinishTimeout;
  phase_ = Phase::finishing;
}

void Supervisor::finish(Instant now) {
  if (source_->advance(now) != ReplicationSource::Phase::ended && now < finish_deadline_) return;
  const RelayEnd end = relay_->end();
  end_session();
  if (end == RelayEnd::sink_fatal) return replace_sink(relay_->end_reason());
  if (end == RelayEnd::drained || end == RelayEnd::poison) return stop(exit_after_finish_, "");
  if (after_finish_ == Phase::waiting_for_sink) return enter(Phase::waiting_for_sink, RelayState::waiting_for_sink);
  back_off("the server shuts down", now);
}

void Supervisor::end_session() {
  if (relay_) relay_->end_session();
  source_.reset();
  asked_for_.reset();
  parts_.metrics.replication_connected.set(0);
  parts_.metrics.active.set(0);
}

void Supervisor::wait_for_sink(Instant now) {
  if (relay_->end() == RelayEnd::sink_fatal) return replace_sink(relay_->end_reason());
  if (relay_->end() == RelayEnd::poison) return stop(ExitCode::poison, relay_->end_reason());
  if (relay_->end() == RelayEnd::progress_refused) {
    return stop(ExitCode::cannot_start, progress_refused(relay_->end_reason()));
  }
  if (relay_->stalled_for(now) >= parts_.config.delivery.stall_disconnect) return;
  log_info("sink_back", "the sink acknowledges again", {{"in_flight", sink_->in_flight_events()}});
  watch_.refresh(now);
  facts_wanted_since_ = now;
  enter(Phase::waiting, RelayState::connecting);
}

void Supervisor::back_off(const std::string& why, Instant now) {
  parts_.metrics.reconnects_source.add(1);
  parts_.board.set_last_error(why, parts_.clock.wall());
  parts_.board.block(ReadySubject::server, why);
  if (std::exchange(last_logged_, why) != why)
    log_warning("reconnecting", why, {{"slot", parts_.config.postgres.slot}});
  retry_at_ = now + backoff_.next();
  enter(Phase::backing_off, RelayState::connecting);
}

void Supervisor::enter(Phase phase, RelayState state) {
  phase_ = phase;
  if (!signal_) parts_.board.set_state(state, parts_.clock.wall());
}

void Supervisor::stop(ExitCode code, const std::string& why) {
  if (!why.empty()) log_error("stopped", why);
  exit_ = code;
}

}  // namespace walrelay
