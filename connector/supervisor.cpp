#include "connector/supervisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "connector/commands/command_support.h"
#include "connector/config/setting.h"
#include "connector/observe/log.h"
#include "connector/postgres/pg_error.h"
#include "connector/postgres/slot_verdict.h"
#include "connector/progress_verdict.h"
#include "sinks/sink_error.h"

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

}  // namespace

Supervisor::Supervisor(SupervisorParts parts, std::uint64_t seed)
    : parts_(std::move(parts)),
      watch_([this] { return query_conninfo(connection()); }, parts_.config.postgres.slot,
             parts_.config.postgres.publication, tables_of(parts_.config), seed),
      retention_([this] { return query_conninfo(connection()); }, parts_.config, parts_.metrics, parts_.clock),
      sink_(parts_.make_sink()),
      backoff_({}, seed + 1),
      sink_backoff_({}, seed + 2) {
  if (!WriteBack::wanted(parts_.config)) return;
  write_back_.emplace([this] { return query_conninfo(connection()); }, parts_.config, parts_.metrics, seed + 3);
}

// A file with a secret may be missing for the moment in which it is replaced: no reason to end what runs.
const PostgresOptions& Supervisor::connection() {
  try {
    connection_ = parts_.connection();
  } catch (const ConfigError& error) {
    if (!connection_) throw;
    const auto why = fmt::format("{}; going on with what was read last", error.what());
    if (told_.worth_telling(why, parts_.clock.now())) log_warning("configuration", why);
  }
  return *connection_;
}

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
    if (phase_ == Phase::streaming) source_->wake_from(pace_.wake_bytes());
    sink_->expect_more(relay_ && relay_->backlog() >= ReadPace::kLate);
    if (!work_.idle() && busy && work_.drained_source && phase_ == Phase::streaming) {
      gather();
    } else if (settled() || (work_.idle() && !unread())) {
      sleep(now);
    }
  }
  if (write_back_) write_back_->tell_given_up();
  return *exit_;
}

void Supervisor::step(Instant now) {
  take_signals(now);
  watch_.step(now, watch_readable_);
  retention_.step(now, retained_stream());
  if (write_back_) write_back_->take(now, write_back_readable_);
  // Without a relay the sink is still to take in its errors and answers, or a standby would not know that it is there.
  work_ = relay_ ? relay_->step(now) : StepResult{.deliveries = sink_->collect(kCollectedMax).size()};
  if (write_back_) write_back_->send(now, phase_ == Phase::streaming);
  if (end_without_stream()) return;
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

// What a relay comes to without a session does not wait for one. (A drain up to a position does: the server is to be
// told of it.) True: there is nothing else to do in this step.
bool Supervisor::end_without_stream() {
  if (phase_ == Phase::streaming || phase_ == Phase::finishing) return false;
  const RelayEnd end = relay_ ? relay_->end() : RelayEnd::none;
  if (end == RelayEnd::poison) {
    halt();
  } else if (end == RelayEnd::progress_refused) {
    stop(ExitCode::cannot_start, progress_refused(relay_->end_reason()));
  } else if (signal_) {
    drain_without_server();
  }
  return exit_ || signal_;
}

void Supervisor::halt() {
  log_error("halted", relay_->end_reason());
  parts_.board.set_last_error(relay_->end_reason(), parts_.clock.wall());
  stop(ExitCode::poison, "");
}

// After an answer that reading waited for, what has come already is in libpq's buffer, where no descriptor tells of it.
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
    if (signal_ && now - signal_came_ < kSameSignal) continue;
    if (signal_) return stop(code, "ended by a second signal; nothing more is confirmed");
    signal_ = signal;
    signal_came_ = now;
    exit_after_finish_ = code;
    log_info("draining", "asked to stop: waiting for what is in flight",
             {{"in_flight", sink_->in_flight_events()}, {"at_most_ms", parts_.config.delivery.drain_timeout.count()}});
    if (!relay_) return stop(code, "");
    parts_.board.set_state(RelayState::draining, parts_.clock.wall());
    relay_->drain(now + parts_.config.delivery.drain_timeout);
  }
}

// ---- while streaming ------------------------------------------------------------------------------------------------

void Supervisor::stream(Instant now) {
  look_for_progress(now);
  if (relay_->end() != RelayEnd::none) return handle_relay_end(now);
  resolve_relation();
  check_drain_target(now);
  make_way(now);
}

// A session that ends before it has brought anything is not a reason to begin the next one at full speed.
void Supervisor::look_for_progress(Instant now) {
  if (!fresh_session_) return;
  const bool moved =
      relay_->resume_position() != fresh_session_->position || relay_->events_half_received() != fresh_session_->events;
  if (!moved && now - fresh_session_->at < kSessionProved) return;
  fresh_session_.reset();
  backoff_.reset();
  told_.clear();
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
  if (answer->known) {
    relay_->resolve(answer->ancestor);
  } else {
    relay_->cannot_resolve();
  }
}

void Supervisor::check_drain_target(Instant now) {
  if (!drain_target_) return;
  if (relay_->settled() >= *drain_target_) relay_->hurry();
  if (relay_->confirmed() >= *drain_target_) relay_->drain(now + parts_.config.delivery.drain_timeout);
}

// Only the instance that streams deletes rows, and one that is about to end has no time for it.
std::optional<Retention::Stream> Supervisor::retained_stream() const {
  if (phase_ != Phase::streaming || signal_ || drain_requested_ || relay_->end() != RelayEnd::none) return std::nullopt;
  return Retention::Stream{relay_->confirmed(), own_walsender_};
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
  const auto timeout = watch_.sender_timeout();
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
    case RelayEnd::session_expired:
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
      return finish_session(Phase::waiting, now);
    case RelayEnd::drained:
      tell_undrained();
      return finish_session(Phase::waiting, now);
  }
}

void Supervisor::tell_undrained() const {
  if (relay_->idle()) return;
  log_warning("drain_timeout", "stopping although events are in flight: they are sent again after the next start",
              {{"in_flight", sink_->in_flight_events()}});
}

// There is no session, or it broke while it was being drained. None is made for that: what is acknowledged yet is
// recorded, and the server hears of it from the next one.
void Supervisor::drain_without_server() {
  if (!relay_) return stop(exit_after_finish_, "");
  if (relay_->end() == RelayEnd::none) return;
  tell_undrained();
  stop(exit_after_finish_, relay_->end_reason());
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
  renew_sink();
  parts_.metrics.reconnects_sink.add(1);
  back_off("the sink failed: a new one is made, and everything that is not confirmed is sent again", now);
  retry_at_ = now + sink_backoff_.next();
}

// What is in flight is given up. The configuration has made a sink before: what has changed is a file that it names,
// and a new start may find that again.
void Supervisor::renew_sink() {
  sink_.reset();
  try {
    sink_ = parts_.make_sink();
  } catch (const SinkConfigError& error) {
    throw SinkOpenError(error.what());
  }
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
  if (end == RelayEnd::poison) return halt();
  if (end == RelayEnd::drained) return stop(exit_after_finish_, "");
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
  if (relay_->stalled_for(now) >= parts_.config.delivery.stall_disconnect || !sink_->health().reachable) return;
  log_info("sink_back", "the sink acknowledges again", {{"in_flight", sink_->in_flight_events()}});
  watch_.refresh(now);
  facts_wanted_since_ = now;
  enter(Phase::waiting, RelayState::connecting);
}

void Supervisor::back_off(const std::string& why, Instant now) {
  parts_.metrics.reconnects_source.add(1);
  parts_.board.set_last_error(why, parts_.clock.wall());
  parts_.board.block(ReadySubject::server, why);
  if (told_.worth_telling(why, now)) log_warning("reconnecting", why, {{"slot", parts_.config.postgres.slot}});
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
