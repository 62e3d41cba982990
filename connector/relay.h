#pragma once
// The relay: source → decoder → router → sink → frontier → status, in that order and nothing else.
//
// step(now) receives up to a bound of frames unless paused, submits, collects delivery reports, advances the frontier
// and sends a status update if one is due; it never blocks. Process, tests and simulator call the same step(). Thread:
// the loop thread. Lifetime: one relay outlives the replication sessions that feed it, as long as they continue one
// history: a session that breaks is followed by one that goes on where it stopped, so nothing in flight is sent twice.
// Source, sink, router and metrics belong to the caller and must outlive the relay (the source: its session).

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "connector/ack_frontier.h"
#include "connector/clock.h"
#include "connector/covered_commits.h"
#include "connector/delivery_policy.h"
#include "connector/delivery_tag.h"
#include "connector/failure_log.h"
#include "connector/observe/metrics.h"
#include "connector/progress_gate.h"
#include "connector/source.h"
#include "connector/status_policy.h"
#include "connector/write_back_queue.h"
#include "decoder/copy_frame.h"
#include "decoder/outbox_router.h"
#include "decoder/pgoutput_decoder.h"
#include "sinks/dead_letter.h"
#include "sinks/sink.h"

namespace walrelay {

enum class RelayEnd : std::uint8_t {
  none,
  source_ended,      // see Source::end(): a new session may go on
  protocol,          // bytes that are not understood, or out of order: a new session may go on
  session_expired,   // the server must have ended the session: a new one may go on
  other_history,     // the stream does not go on where the last session stopped: needs a new relay
  gap,               // the server's log is not the one of which the progress record tells
  progress_refused,  // the progress record cannot be written
  sink_fatal,        // the sink is finished: needs a new sink and a new relay
  poison,            // halted on an event that can never be delivered
  drained,           // drain() is done
};

struct RelayOptions {
  DeliveryOptions delivery;
  ProgressGate progress = {};              // as it stands at the start; without records by default
  std::optional<CommitMark> covered = {};  // the last commit that was delivered before, if the stream starts before it
  WriteBackQueue* write_back = nullptr;    // the caller's, and outlives the relay; null: no rows are written to
  std::size_t frames_per_step_max = 1024;
  std::size_t deliveries_per_step_max = 4096;
};

// Work done in a step; the loop waits for descriptors only when it was zero.
struct StepResult {
  std::size_t frames = 0;
  std::size_t deliveries = 0;
  bool drained_source = false;  // it was read until it had nothing more
  [[nodiscard]] bool idle() const { return frames == 0 && deliveries == 0; }
};

// A relation that is not configured under its own name: it may be a partition, only the catalog knows.
struct UnresolvedRelation {
  RelationId relation_id = 0;
  std::string name;
};

class Relay {
 public:
  // `confirmed`: where the slot stands. `epoch` (up to DeliveryTag::kEpochMax) tells this relay's deliveries from those
  // of an earlier one on the same sink.
  Relay(RelayOptions options, OutboxRouter& router, Sink& sink, RelayMetrics& metrics, const Clock& clock,
        Lsn confirmed, std::uint16_t epoch);

  void begin_session(Source& source, std::chrono::milliseconds wal_sender_timeout, Instant now);
  // After it no source is touched; deliveries are still collected. If only the session had ended, end() is none again.
  void end_session();

  StepResult step(Instant now);
  [[nodiscard]] RelayEnd end() const { return end_; }
  // Why it ended, in one line for people; "" for source_ended and drained.
  [[nodiscard]] const std::string& end_reason() const { return end_reason_; }

  // Ends with `drained` once what has been received is settled, or at the deadline. A transaction that is half received
  // is finished first, so that a restart does not repeat it.
  void drain(Instant deadline);
  // Somebody waits for what is settled to be confirmed: it is recorded and written back without a pause.
  void hurry();
  // The last status update of a session, before it is ended in order.
  void send_final_status(Instant now);

  // Reading stops until the answer comes.
  [[nodiscard]] const std::optional<UnresolvedRelation>& unresolved() const { return unresolved_; }
  void resolve(const std::optional<std::string>& ancestor);
  // The catalog does not tell any more: its rows stay rejections.
  void cannot_resolve();

  // What the server may be told: at most the frontier, no more than the progress record covers, and than what has been
  // written back.
  [[nodiscard]] Lsn confirmed() const {
    const Lsn recorded = progress_.confirmable(frontier_.confirmed());
    return write_back_ == nullptr ? recorded : write_back_->confirmable(recorded);
  }
  // Up to where everything is settled; confirmed() may be behind it.
  [[nodiscard]] Lsn settled() const { return frontier_.confirmed(); }
  // Where the next session is to start.
  [[nodiscard]] Lsn resume_position() const { return frontier_.received(); }
  // The transaction that the stream was in, and how many of its events were dealt with.
  [[nodiscard]] std::optional<TransactionStart> half_received() const {
    return transaction_ ? std::optional(transaction_->start) : std::nullopt;
  }
  [[nodiscard]] std::uint64_t events_half_received() const { return transaction_ ? transaction_->events : 0; }
  [[nodiscard]] bool idle() const { return frontier_.idle(); }
  // Not reading because of the sink.
  [[nodiscard]] bool paused() const { return blocked_event_.has_value() || !dead_letters_.empty() || window_full(); }
  // Whether step() reads from the source: if not, its descriptor is not to be waited for.
  [[nodiscard]] bool reading() const { return may_receive(); }
  // How long something has been in flight, or kept out by the sink, without one delivery; zero if nothing is.
  [[nodiscard]] Duration stalled_for(Instant now) const;
  // How long the last transaction that began had been committed when the server sent it, both by the server's clock.
  [[nodiscard]] Duration backlog() const { return backlog_; }
  // How long the server has said nothing although it was asked to; zero while reading is paused.
  [[nodiscard]] Duration silent_for(Instant now) const;
  // The next moment at which step() has something to do even if no descriptor is ready.
  [[nodiscard]] Instant deadline() const;

 private:
  struct OpenTransaction {
    TransactionStart start;
    AckFrontier::Ordinal ordinal = 0;
    bool covered = false;            // delivered before this relay began
    std::uint64_t events = 0;        // events and rejections of it that were dealt with
    std::uint64_t already_done = 0;  // of them, in an earlier session: not to be done again
    std::uint64_t seen = 0;          // in this session
  };

  std::size_t collect();
  void on_delivery(const Delivery& delivery);
  void on_failed(const DeliveryTag& tag, FailedEvent failed);
  void on_progress_delivery(const Delivery& delivery);
  [[nodiscard]] std::string id_of(const FailedEvent& failed, std::size_t outbox) const;
  void settle(AckFrontier::Ordinal ordinal);
  void record_progress();
  void pass_to_write_back();
  [[nodiscard]] bool written_back() const { return write_back_ == nullptr || write_back_->idle(); }
  std::size_t receive_frames(Instant now, bool& drained);
  [[nodiscard]] bool may_receive() const;
  // One partition that lags behind the others holds the frontier: what is delivered beyond it would be repeated after a
  // crash, so that is bounded too.
  [[nodiscard]] bool window_full() const {
    return !transaction_ && frontier_.unconfirmed_records() >= options_.delivery.max_in_flight;
  }
  void on_frame(std::string_view frame);
  void on_message(const PgoutputMessage& message);
  void on_begin(const BeginMessage& begin);
  void on_commit(const CommitMessage& commit);
  void on_covered(const InsertMessage& insert);
  void on_covered_end(Lsn end_lsn);
  void stop_at_gap(std::string_view met, Lsn position);
  void on_relation(const RelationMessage& relation);
  void on_routed(const Routed& routed);
  void on_other_change(RelationId relation_id);
  void submit(const OutboxEvent& event);
  void event_done(bool in_flight);
  void on_not_taken(const OutboxEvent& event);
  void on_rejected(const OutboxEvent& event, const Rejection& rejection);
  void submit_dead_letters();
  void send_dead_letter(FailedEvent failed, const DeliveryTag& tag);
  void skip_named(const OutboxEvent& event);
  void count_skipped(const Rejection& rejection, const DeliveryTag& tag);
  void log_failed(EventFate fate, const Rejection& rejection, const DeliveryTag& tag);
  void tell_row(const DeliveryTag& tag, std::string_view id, const Rejection& rejection);
  // `name`: what --skip knows the event by.
  void halt(const Rejection& rejection, const DeliveryTag& tag, const std::string& name);
  [[nodiscard]] std::string name_of(const FailedEvent& failed, const DeliveryTag& tag) const;
  void check_ends();
  void stop_at_expiry();
  [[nodiscard]] bool drain_finished() const;
  void send_status();
  [[nodiscard]] PgTime oldest_unconfirmed_commit() const;
  void publish_metrics();
  void publish_lag();
  void stop(RelayEnd why, std::string reason);
  [[nodiscard]] DeliveryTag tag_of(std::size_t outbox) const;
  [[nodiscard]] EventOrigin origin(const DeliveryTag& tag) const;

  RelayOptions options_;
  OutboxRouter& router_;
  Sink& sink_;
  RelayMetrics& metrics_;
  const Clock& clock_;
  WriteBackQueue* const write_back_;
  const std::uint16_t epoch_;

  AckFrontier frontier_;
  ProgressGate progress_;
  CoveredCommits covered_;
  std::uint64_t passed_over_ = 0;  // events of covered transactions
  StatusPolicy status_;
  PgoutputDecoder decoder_;
  Source* source_ = nullptr;  // of the current session
  std::optional<OpenTransaction> transaction_;
  bool resuming_ = false;  // transaction_ was cut by the end of the last session

  std::optional<OutboxEvent> blocked_event_;  // the sink was full; its views live as long as no frame is received
  std::deque<DeadLetter> dead_letters_;       // to be submitted before anything else is read
  std::optional<UnresolvedRelation> unresolved_;

  // End of the last commit received. A keepalive that came too early to count must not move it: a server that is told
  // its position as written does not send another until there is new WAL, and the confirmed position would stand still.
  Lsn written_;
  Instant now_{};    // of the current step
  PgTime wall_ = 0;  // of the current step
  PgTime sent_ = 0;  // the frame that is being read, by the server's clock
  Duration backlog_{};
  Instant last_progress_{};
  Instant last_frame_{};
  Duration ask_after_{};  // of silence
  FailureLog failure_log_;
  std::string halt_reason_;
  AckFrontier::Ordinal halted_at_ = 0;
  std::optional<Instant> drain_deadline_;
  std::optional<Instant> halt_deadline_;
  RelayEnd end_ = RelayEnd::none;
  std::string end_reason_;
};

}  // namespace walrelay
