#include "connector/relay.h"

#include <fmt/format.h>

#include <utility>

#include "connector/invariant.h"
#include "connector/observe/log.h"

namespace walrelay {
Relay::Relay(RelayOptions options, OutboxRouter& router, Sink& sink, RelayMetrics& metrics, const Clock& clock,
             Lsn confirmed, std::uint16_t epoch)
    : options_(std::move(options)),
      router_(router),
      sink_(sink),
      metrics_(metrics),
      clock_(clock),
      write_back_(options_.write_back),
      epoch_(epoch),
      frontier_(confirmed),
      progress_(options_.progress),
      covered_(options_.covered),
      written_(confirmed),
      last_progress_(clock.now()) {
  WALRELAY_INVARIANT(confirmed.valid());
  if (write_back_ != nullptr) write_back_->restart(confirmed);
}

void Relay::begin_session(Source& source, std::chrono::milliseconds wal_sender_timeout, Instant now) {
  WALRELAY_INVARIANT(source_ == nullptr);
  source_ = &source;
  end_ = RelayEnd::none;
  end_reason_.clear();
  router_.reset();
  status_.start(now, wal_sender_timeout);
  ask_after_ = wal_sender_timeout.count() > 0 ? Duration(wal_sender_timeout) / 2 : Duration(std::chrono::seconds(30));
  resuming_ = transaction_.has_value();
  last_frame_ = now;
}

void Relay::end_session() {
  source_ = nullptr;
  const bool of_session =
      end_ == RelayEnd::source_ended || end_ == RelayEnd::protocol || end_ == RelayEnd::session_expired;
  if (of_session) stop(RelayEnd::none, "");
  blocked_event_.reset();  // its bytes go with the frame; the next session sends them again
  unresolved_.reset();
  publish_lag();
}

StepResult Relay::step(Instant now) {
  now_ = now;
  wall_ = clock_.wall();
  StepResult work;
  work.deliveries = collect();
  if (source_ != nullptr && end_ == RelayEnd::none && status_.expired(now)) stop_at_expiry();
  submit_dead_letters();
  if (blocked_event_ && end_ == RelayEnd::none) submit(*blocked_event_);
  if (source_ != nullptr) {
    work.frames = receive_frames(now, work.drained_source);
  }
  if (drain_deadline_ || halt_deadline_) hurry();
  if (write_back_ != nullptr) pass_to_write_back();
  record_progress();
  if (source_ != nullptr) {
    status_.confirmed(this->confirmed(), now);
    if (now >= status_.due()) send_status();
  }
  check_ends();
  failure_log_.tell_rest(now);
  publish_metrics();
  return work;
}

Instant Relay::deadline() const {
  Instant earliest = source_ != nullptr ? status_.due() : now_ + StatusPolicy::kIntervalMax;
  if (drain_deadline_) earliest = std::min(earliest, *drain_deadline_);
  if (halt_deadline_) earliest = std::min(earliest, *halt_deadline_);
  if (const auto due = progress_.due()) earliest = std::min(earliest, *due);
  return earliest;
}

// ---- deliveries -----------------------------------------------------------------------------------------------------

std::size_t Relay::collect() {
  const auto deliveries = sink_.collect(options_.deliveries_per_step_max);
  for (const auto& delivery : deliveries) on_delivery(delivery);
  if (!deliveries.empty() || (sink_.in_flight_events() == 0 && !paused())) last_progress_ = now_;
  return deliveries.size();
}

void Relay::on_delivery(const Delivery& delivery) {
  const auto tag = DeliveryTag::unpack(delivery.tag, frontier_.first());
  if (tag.epoch != epoch_) return;  // of a relay that was given up; the server sends those events again
  if (delivery.status == DeliveryStatus::in_doubt) return;  // the sink is finished; nothing of it is confirmed
  if (tag.kind == DeliveryTag::Kind::progress) return on_progress_delivery(delivery);
  if (delivery.status == DeliveryStatus::failed) return on_failed(tag, *delivery.failed);
  const bool dead_letter = tag.kind == DeliveryTag::Kind::dead_letter;
  if (dead_letter) metrics_.dead_letters.add(1);
  metrics_.events(tag.outbox, dead_letter ? EventResult::dead_letter : EventResult::delivered).add(1);
  metrics_.commit_to_ack.observe(std::chrono::microseconds(wall_ - frontier_.start_of(tag.ordinal).commit_time));
  settle(tag.ordinal);
}

void Relay::settle(AckFrontier::Ordinal ordinal) {
  if (frontier_.settled(ordinal)) metrics_.transactions.add(1);
}

// ---- progress -------------------------------------------------------------------------------------------------------

// The rows of a transaction without end cannot wait for it: reading pauses, and once nothing is in flight, all of them
// are settled.
void Relay::pass_to_write_back() {
  write_back_->settled(frontier_.confirmed(), now_);
  const bool nothing_in_flight = sink_.in_flight_events() == 0 && !paused() && halt_reason_.empty();
  if (write_back_->full() && nothing_in_flight) write_back_->all_settled(now_);
}

void Relay::record_progress() {
  if (write_back_ != nullptr && write_back_->failures_pending()) return;
  progress_.reached(frontier_.confirmed(), frontier_.last_commit());
  const auto due = progress_.due();
  if (!due || now_ < *due) return;
  const ProgressRecord& record = progress_.begin(now_);
  const DeliveryTag tag{.kind = DeliveryTag::Kind::progress, .epoch = epoch_, .outbox = 0, .ordinal = 0};
  switch (sink_.submit_progress(record.slot, to_json(record), tag.pack())) {
    case SubmitStatus::accepted:
      return;
    case SubmitStatus::full:
      return progress_.postponed(now_);
    case SubmitStatus::rejected:
      return stop(RelayEnd::progress_refused, sink_.rejection().reason);
  }
}

void Relay::on_progress_delivery(const Delivery& delivery) {
  if (delivery.status == DeliveryStatus::failed) {
    return stop(RelayEnd::progress_refused, delivery.failed->rejection.reason);
  }
  progress_.written();
  status_.at_once(now_);
}

// ---- frames ---------------------------------------------------------------------------------------------------------

bool Relay::may_receive() const {
  if (source_ == nullptr || end_ != RelayEnd::none || !halt_reason_.empty()) return false;
  if (paused() || unresolved_) return false;
  if (write_back_ != nullptr && write_back_->full()) return false;
  return !drain_deadline_ || transaction_;
}

std::size_t Relay::receive_frames(Instant now, bool& drained) {
  std::size_t frames = 0;
  if (!may_receive()) last_frame_ = now;  // what is not read cannot be called silence
  while (frames < options_.frames_per_step_max && may_receive()) {
    std::string_view frame;
    const auto received = source_->receive(frame);
    if (received == ReceiveStatus::ended) {
      stop(RelayEnd::source_ended, "");
    } else if (received == ReceiveStatus::nothing_yet) {
      drained = true;
      break;
    } else {
      ++frames;
      last_frame_ = now;
      on_frame(frame);
    }
  }
  return frames;
}

void Relay::on_frame(std::string_view bytes) {
  CopyFrame frame;
  DecodeError error = parse_copy_frame(bytes, frame);
  if (!error.failed()) {
    if (const auto* keepalive = std::get_if<Keepalive>(&frame)) {
      if (!covered_.may_pass(keepalive->wal_end)) return stop_at_gap("the server's position", keepalive->wal_end);
      frontier_.keepalive(keepalive->wal_end);
      if (!keepalive->reply_requested) return;
      status_.at_once(now_);
      return progress_.hurry();
    }
    PgoutputMessage message;
    const auto& data = std::get<XLogData>(frame);
    sent_ = data.send_time;
    error = decoder_.decode(data.payload, message);
    if (!error.failed()) return on_message(message);
  }
  stop(RelayEnd::protocol, fmt::format("cannot read a message of the server: {}", error.to_string()));
}

void Relay::on_message(const PgoutputMessage& message) {
  const bool in_transaction = transaction_ && !resuming_;
  if (const auto* insert = std::get_if<InsertMessage>(&message)) {
    if (!in_transaction) return stop(RelayEnd::protocol, "the server sent an Insert outside a transaction");
    if (transaction_->covered) return on_covered(*insert);
    on_routed(router_.route(*insert, transaction_->start.commit_time));
  } else if (const auto* begin = std::get_if<BeginMessage>(&message)) {
    on_begin(*begin);
  } else if (const auto* commit = std::get_if<CommitMessage>(&message)) {
    on_commit(*commit);
  } else if (const auto* relation = std::get_if<RelationMessage>(&message)) {
    on_relation(*relation);
  } else if (const auto* logical = std::get_if<LogicalMessage>(&message)) {
    if (in_transaction && !transaction_->covered) on_routed(router_.route(*logical, transaction_->start.commit_time));
  } else if (const auto* update = std::get_if<UpdateMessage>(&message)) {
    on_other_change(update->relation_id);
  } else if (const auto* deletion = std::get_if<DeleteMessage>(&message)) {
    on_other_change(deletion->relation_id);
  } else if (const auto* truncate = std::get_if<TruncateMessage>(&message)) {
    for (const auto relation_id : truncate->relation_ids) on_other_change(relation_id);
  }
}

void Relay::on_begin(const BeginMessage& begin) {
  const TransactionStart start{begin.commit_lsn, begin.xid, begin.commit_time};
  if (resuming_) {
    // The server begins with the transaction that the last session broke off in; its events up to there are in the
    // sink.
    resuming_ = false;
    if (start.commit_lsn != transaction_->start.commit_lsn || start.xid != transaction_->start.xid) {
      return stop(
          RelayEnd::other_history,
          fmt::format("expected transaction {} committing at {}, the server sent {} at {}", transaction_->start.xid,
                      transaction_->start.commit_lsn.to_string(), start.xid, start.commit_lsn.to_string()));
    }
    transaction_->already_done = transaction_->events;
    transaction_->seen = 0;
    return;
  }
  if (transaction_) return stop(RelayEnd::protocol, "the server began a transaction inside another");
  if (!covered_.may_pass(start.commit_lsn)) return stop_at_gap("a commit", start.commit_lsn);
  backlog_ = std::chrono::microseconds(sent_ - start.commit_time);
  transaction_ =
      OpenTransaction{.start = start, .ordinal = frontier_.open(start), .covered = covered_.covers(start.commit_lsn)};
}

void Relay::on_commit(const CommitMessage& commit) {
  if (!transaction_ || resuming_ || commit.commit_lsn != transaction_->start.commit_lsn) {
    return stop(RelayEnd::protocol,
                fmt::format("the server committed at {} what it had not begun", commit.commit_lsn.to_string()));
  }
  if (commit.end_lsn <= frontier_.received()) {
    return stop(RelayEnd::other_history,
                fmt::format("the server sent a transaction that ends at {} after one that ended at {}",
                            commit.end_lsn.to_string(), frontier_.received().to_string()));
  }
  if (transaction_->covered) on_covered_end(commit.end_lsn);
  if (end_ != RelayEnd::none) return;
  transaction_.reset();
  frontier_.close(commit.end_lsn);
  written_ = std::max(written_, commit.end_lsn);
}

// Its row may still have to be written to: the process that published it may have died before that.
void Relay::on_covered(const InsertMessage& insert) {
  ++passed_over_;
  if (write_back_ == nullptr) return;
  const Routed routed = router_.route(insert, transaction_->start.commit_time);
  if (routed.status == RouteStatus::ignored || ++transaction_->seen <= transaction_->already_done) return;
  OutboxEvent event = routed.event;
  event.commit_lsn = transaction_->start.commit_lsn;
  event.index = transaction_->events++;
  if (routed.status == RouteStatus::rejected || options_.delivery.skip.contains(event)) return;
  write_back_->covered(event.outbox, transaction_->start, event.id);
}

void Relay::on_covered_end(Lsn end_lsn) {
  const auto& start = transaction_->start;
  if (!covered_.ended({end_lsn, start.xid, start.commit_time})) return stop_at_gap("a commit", end_lsn);
  if (covered_.pending()) return;
  if (write_back_ != nullptr) write_back_->covered_met();
  log_info("progress_met", "what the progress record covers is behind; it is not published again",
           {{"events", passed_over_}, {"up_to", end_lsn}});
}

void Relay::stop_at_gap(std::string_view met, Lsn position) {
  const CommitMark& last = *covered_.last();
  stop(RelayEnd::gap,
       fmt::format("the progress record tells of events up to transaction {} ending at {}, but the server's log has {} "
                   "at {} instead: it is not the log that was published from (a restored copy?)",
                   last.xid, last.end_lsn.to_string(), met, position.to_string()));
}

void Relay::on_relation(const RelationMessage& relation) {
  if (router_.relation(relation) != RelationUse::unknown) return;
  unresolved_ = UnresolvedRelation{relation.relation_id, router_.relation_name(relation.relation_id)};
}

void Relay::resolve(const std::optional<std::string>& ancestor) {
  WALRELAY_INVARIANT(unresolved_.has_value());
  if (router_.resolve(unresolved_->relation_id, ancestor) == RelationUse::ignored) {
    log_warning("table_ignored", "the publication has a table that no [[outbox]] names; its rows are ignored",
                {{"table", unresolved_->name}});
  }
  unresolved_.reset();
}

void Relay::cannot_resolve() { unresolved_.reset(); }

void Relay::on_other_change(RelationId relation_id) {
  if (const auto outbox = router_.outbox_of(relation_id)) {
    metrics_.events(*outbox, EventResult::ignored).add(1);
  } else {
    metrics_.unmapped_changes.add(1);
  }
}

// ---- events ---------------------------------------------------------------------------------------------------------

void Relay::on_routed(const Routed& routed) {
  if (routed.status == RouteStatus::ignored) {
    if (routed.ignored != IgnoreReason::other_prefix) metrics_.unmapped_changes.add(1);
    return;
  }
  if (++transaction_->seen <= transaction_->already_done) return;
  OutboxEvent event = routed.event;
  event.commit_lsn = transaction_->start.commit_lsn;
  event.index = transaction_->events;
  if (!options_.delivery.skip.empty() && options_.delivery.skip.contains(event)) return skip_named(event);
  if (routed.status == RouteStatus::rejected) return on_rejected(event, *routed.rejection);
  if (event.timestamp_replaced) metrics_.timestamps_replaced.add(1);
  if (event.invalid_traceparent) metrics_.invalid_traceparents(event.outbox).add(1);
  submit(event);
}

void Relay::submit(const OutboxEvent& event) {
  switch (sink_.submit(event, tag_of(event.outbox).pack())) {
    case SubmitStatus::accepted:
      if (write_back_ != nullptr) write_back_->sent(event.outbox, transaction_->start, event.id);
      blocked_event_.reset();
      return event_done(true);
    case SubmitStatus::full:
      blocked_event_ = event;
      return;
    case SubmitStatus::rejected: {
      const OutboxEvent rejected = event;  // `event` may be the blocked one
      blocked_event_.reset();
      return on_not_taken(rejected);
    }
  }
}

void Relay::event_done(bool in_flight) {
  ++transaction_->events;
  if (in_flight) frontier_.add();
}

DeliveryTag Relay::tag_of(std::size_t outbox) const {
  return {.kind = DeliveryTag::Kind::event, .epoch = epoch_, .outbox = outbox, .ordinal = transaction_->ordinal};
}

EventOrigin Relay::origin(const DeliveryTag& tag) const {
  const auto& start = frontier_.start_of(tag.ordinal);
  return {std::string(router_.outbox_name(tag.outbox)), start.commit_lsn, start.xid, start.commit_time};
}

// ---- status and ends ------------------------------------------------------------------------------------------------

void Relay::send_status() {
  const Lsn confirmed = this->confirmed();
  const bool ask = may_receive() && now_ - last_frame_ >= ask_after_;
  if (!source_->send_status(std::max(written_, confirmed), confirmed, confirmed, wall_, ask)) return;
  status_.sent(confirmed, now_);
  metrics_.confirmed_lsn.set(confirmed);
}

void Relay::send_final_status(Instant now) {
  now_ = now;
  wall_ = clock_.wall();
  if (source_ != nullptr) send_status();
  publish_metrics();
}

void Relay::drain(Instant deadline) {
  if (!drain_deadline_ || deadline < *drain_deadline_) drain_deadline_ = deadline;
}

void Relay::hurry() {
  progress_.hurry();
  if (write_back_ != nullptr) write_back_->hurry();
}

bool Relay::drain_finished() const {
  if (now_ >= *drain_deadline_) return true;
  // Without a session a half received transaction cannot be finished: what is in flight is waited for.
  const bool received = !transaction_ || source_ == nullptr;
  return received && !paused() && sink_.in_flight_events() == 0 && !progress_.behind() && written_back();
}

void Relay::check_ends() {
  if (end_ != RelayEnd::none) return;
  // Also seen while nothing is read: a status update could not be sent.
  if (source_ != nullptr && source_->end() != SourceEnd::none) return stop(RelayEnd::source_ended, "");
  if (auto fatal = sink_.fatal_reason()) return stop(RelayEnd::sink_fatal, std::move(*fatal));
  if (!halt_reason_.empty()) {
    // What was before it is waited for; what is in flight behind it will not be confirmed.
    const bool settled = frontier_.first() == halted_at_ || sink_.in_flight_events() == 0;
    if ((settled && !progress_.behind() && written_back()) || now_ >= *halt_deadline_)
      stop(RelayEnd::poison, halt_reason_);
  } else if (drain_deadline_ && drain_finished()) {
    stop(RelayEnd::drained, "");
  }
}

// A process that was suspended, or a host that was too busy: what lies in the socket may have been delivered by another
// instance, and newer events of its keys with it.
void Relay::stop_at_expiry() {
  stop(
      RelayEnd::session_expired,
      fmt::format("this process sent the server nothing for its wal_sender_timeout ({} ms): leaving the session, which "
                  "the server has given up, unread; was the process suspended, or the host overloaded?",
                  std::chrono::duration_cast<std::chrono::milliseconds>(status_.timeout()).count()));
}

void Relay::stop(RelayEnd why, std::string reason) {
  end_ = why;
  end_reason_ = std::move(reason);
}

Duration Relay::stalled_for(Instant now) const {
  return sink_.in_flight_events() == 0 && !paused() ? Duration::zero() : now - last_progress_;
}

Duration Relay::silent_for(Instant now) const {
  return source_ == nullptr || !may_receive() ? Duration::zero() : now - last_frame_;
}

PgTime Relay::oldest_unconfirmed_commit() const {
  if (write_back_ != nullptr && write_back_->oldest_commit()) return *write_back_->oldest_commit();
  if (const auto& commit = progress_.unrecorded_commit()) return commit->time;
  return frontier_.idle() ? RelayMetrics::kNoCommitWaiting : frontier_.start_of(frontier_.first()).commit_time;
}

// Without a session nobody tells of commits: that none is known does not mean that there is none.
void Relay::publish_lag() {
  const PgTime oldest = oldest_unconfirmed_commit();
  if (source_ == nullptr && oldest == RelayMetrics::kNoCommitWaiting) {
    metrics_.oldest_unconfirmed_commit.clear();
  } else {
    metrics_.oldest_unconfirmed_commit.set(oldest);
  }
}

void Relay::publish_metrics() {
  metrics_.in_flight_events.set(sink_.in_flight_events());
  metrics_.in_flight_bytes.set(sink_.in_flight_bytes());
  metrics_.frontier_lsn.set(frontier_.confirmed());
  publish_lag();
  if (paused()) {
    metrics_.backpressure.start(now_);
  } else {
    metrics_.backpressure.stop(now_);
  }
}

}  // namespace walrelay
