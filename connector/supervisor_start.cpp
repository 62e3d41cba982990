// From facts about the server and the slot, over the connection and the progress record, to a stream.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connector/commands/command_support.h"
#include "connector/commands/publication_check.h"
#include "connector/observe/log.h"
#include "connector/postgres/pg_error.h"
#include "connector/postgres/slot_verdict.h"
#include "connector/progress_verdict.h"
#include "connector/session_start.h"
#include "connector/supervisor.h"
#include "connector/wal_position.h"
#include "decoder/mapping_check.h"

namespace walrelay {

void Supervisor::wait_for_facts(Instant now) {
  const auto& facts = watch_.facts();
  if (!facts) {
    const auto& failure = watch_.failure();
    if (failure.message.empty()) return;
    if (classify(failure.sqlstate, failure.message) == PgTrouble::permanent) {
      return stop(ExitCode::cannot_start, failure.message);
    }
    if (told_.worth_telling(failure.message, now)) log_warning("server_away", failure.message);
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
      if (facts.slot && facts.slot->active_pid == own_walsender_) return false;
      give_way();
      if (phase_ != Phase::standby) {
        told_.clear();
        log_info("standby", verdict.reason, {{"slot", postgres.slot}});
      }
      if (phase_ != Phase::standby) tell_server(facts.version, watch_.tls());
      parts_.board.unblock(ReadySubject::server);
      gap_seen_ = false;
      enter(Phase::standby, RelayState::standby);
      return false;
    case SlotVerdict::Kind::not_yet:
      if (told_.worth_telling(verdict.reason, parts_.clock.now())) log_warning("server_is_standby", verdict.reason);
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

// Another instance delivers from where the slot stands, and moves the progress record: to go on later with what this
// one knew, or to send what it still holds, would be to repeat that.
void Supervisor::give_way() {
  if (!relay_) return;
  relay_.reset();
  if (sink_->in_flight_events() > 0) renew_sink();
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

// What the first row would end with, said before the stream is asked for. A table that changes later is a matter of its
// rows, which have the columns of their time; so it is at the start where the policy is to pass such rows by.
bool Supervisor::starts_with_fitting_mapping() {
  if (epoch_ != 0) return true;
  const auto& look = watch_.table_look();
  if (!look) return false;  // being asked
  if (!look->refused.empty()) {
    log_warning("mapping_unchecked",
                "whether the tables have the columns of the mapping is not known: " + look->refused);
    return true;
  }
  std::vector<std::string> faults;
  std::vector<std::string> unwritten;  // delivery does not depend on it
  auto table = look->tables.begin();
  for (const auto& rules : parts_.config.outboxes) {
    if (rules.table.empty()) continue;
    const TableInfo& found = *table++;
    if (found.columns.empty()) continue;  // gone by now
    const auto of_write_back = write_back_problems(rules, found.columns);
    for (const auto& fault : mapping_faults(rules, found)) {
      const bool mapped = std::find(of_write_back.begin(), of_write_back.end(), fault.what) == of_write_back.end();
      (mapped ? faults : unwritten).push_back(fmt::format("{}; remedy: {}", fault.what, fault.remedy));
    }
  }
  if (!unwritten.empty()) log_warning("write_back_unfit", "rows will not be written to: " + join(unwritten, "; "));
  if (faults.empty()) return true;
  const auto why = join(faults, "; ");
  if (parts_.config.delivery.policy(FailureClass::mapping) == OnError::halt) {
    stop(ExitCode::usage, why);
    return false;
  }
  log_warning("mapping_unfit", why);
  return true;
}

void Supervisor::open_session(Instant now) {
  if (epoch_ == 0) watch_.look_at_tables();
  source_ =
      std::make_unique<ReplicationSource>(replication_conninfo(connection().dsn, parts_.config.postgres.slot), now);
  enter(Phase::connecting, RelayState::connecting);
  connect(now);
}

void Supervisor::connect(Instant now) {
  switch (source_->advance(now)) {
    case ReplicationSource::Phase::identified:
      if (starts_with_all_tables() && starts_with_fitting_mapping()) choose_relay();
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
  if (!facts || !facts->slot) return look_again();
  slot_position_ = facts->slot->confirmed;
  const ServerHistory& history = source_->history();
  const bool goes_on =
      relay_ && history_ && history.continues(*history_) && may_resume(*relay_, slot_position_, history.flushed);
  if (goes_on) return start_stream();
  enter(Phase::reading_progress, RelayState::connecting);
  read_progress();
}

// What was known of the slot is gone, or it has moved meanwhile, as another instance had it: then record and slot do
// not belong together.
void Supervisor::look_again() {
  source_.reset();
  watch_.refresh(parts_.clock.now());
  facts_wanted_since_ = parts_.clock.now();
  enter(Phase::waiting, RelayState::connecting);
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
  const auto& facts = watch_.facts();
  if (!facts || !facts->slot || facts->slot->confirmed != slot_position_) return look_again();
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
  if (write_back_) options.write_back = &write_back_->queue();
  relay_ = std::make_unique<Relay>(std::move(options), parts_.router, *sink_, parts_.metrics, parts_.clock,
                                   slot_position_, epoch_);
  start_stream();
}

void Supervisor::start_stream() {
  history_ = source_->history();
  enter(Phase::connecting, RelayState::connecting);
  const bool messages = parts_.router.wants_messages() && source_->server_version() >= 140000;
  source_->start(parts_.config.postgres.slot, parts_.config.postgres.publication, messages, relay_->resume_position());
}

void Supervisor::begin_streaming(Instant now) {
  relay_->begin_session(*source_, watch_.sender_timeout(), now);
  fresh_session_ = SessionStart{now, relay_->resume_position(), relay_->events_half_received()};
  own_walsender_ = source_->backend_pid();
  gap_seen_ = false;
  enter(Phase::streaming, RelayState::streaming);
  parts_.board.unblock(ReadySubject::server);
  tell_server(source_->server_version(), source_->tls());
  parts_.metrics.replication_connected.set(1);
  parts_.metrics.active.set(1);
  log_info(
      "streaming_started", "streaming from the slot",
      {{"slot", parts_.config.postgres.slot}, {"from", relay_->resume_position()}, {"confirmed", relay_->confirmed()}});
}

void Supervisor::tell_server(int version, bool tls) {
  parts_.board.set_server({watch_.target().to_string(), fmt::format("{}.{}", version / 10000, version % 10000), tls});
}

}  // namespace walrelay
