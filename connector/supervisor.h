#pragma once
// Sessions over time: waits for the server and for its turn (one active, the others stand by), starts a replication
// session, runs the relay, reconnects, makes way for a server that shuts down or for a sink that is away, and ends for
// what cannot heal.
//
// One loop on one thread; it sleeps on descriptors and the nearest deadline. `run` never creates a slot.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "connector/backoff.h"
#include "connector/config/config.h"
#include "connector/event_poll.h"
#include "connector/exit_code.h"
#include "connector/observe/status_board.h"
#include "connector/read_pace.h"
#include "connector/relay.h"
#include "connector/replication_source.h"
#include "connector/retention.h"
#include "connector/server_watch.h"
#include "connector/told_reasons.h"
#include "connector/write_back.h"

namespace walrelay {

// What a supervisor works with; all of it stays the caller's and outlives the supervisor.
struct SupervisorParts {
  const Config& config;
  OutboxRouter& router;
  RelayMetrics& metrics;
  StatusBoard& board;
  const Clock& clock;
  std::function<std::unique_ptr<Sink>()> make_sink;  // again after a fatal error of the sink
  SignalFd& signals;
  std::function<PostgresOptions()> connection;  // how to reach the server, asked at each connect; may throw ConfigError
  std::function<void(Instant)> on_turn;         // called at each turn of the loop
};

class Supervisor {
 public:
  Supervisor(SupervisorParts parts, std::uint64_t seed);

  // Until there is a reason to end. `drain`: once all that was committed before the start is confirmed.
  ExitCode run(bool drain);

 private:
  static constexpr Duration kStallShown = std::chrono::seconds(10);  // then /readyz says so
  static constexpr Duration kSecondLook = std::chrono::seconds(1);
  static constexpr Duration kLossReadMax = std::chrono::seconds(3);
  static constexpr Duration kSleepMax = std::chrono::seconds(1);               // also the heartbeat's longest pause
  static constexpr Duration kSignalsInterval = std::chrono::milliseconds(50);  // where the loop does not wait for them
  static constexpr Duration kSessionProved = std::chrono::seconds(10);         // by its age, if it brings nothing
  static constexpr Duration kAcksWait = std::chrono::milliseconds(5);  // what is known of an ack too late, at most

  // A second signal sooner than this is the first one: timeout(1) sends it to the process and to its group.
  static constexpr Duration kSameSignal = std::chrono::seconds(1);
  static constexpr Duration kAwayTold = std::chrono::seconds(2);
  // How soon a standby sees that the slot is free.
  static constexpr Duration kStandbyInterval = std::chrono::milliseconds(500);
  static constexpr Duration kStatisticsInterval = std::chrono::milliseconds(250);

  enum class Phase : std::uint8_t {
    waiting,           // for facts about the server and the slot
    standby,           // another connection has the slot
    backing_off,       // until retry_at_
    connecting,        // the replication connection, up to the start of the stream
    reading_loss,      // the slot is gone: waiting for what the sink has recorded, to say how far events were delivered
    reading_progress,  // connected, and waiting for what the sink has recorded
    streaming,
    finishing,         // the stream is being ended in order; then after_finish_
    waiting_for_sink,  // disconnected, so as not to be in the server's way
  };

  // Where a session found the relay.
  struct SessionStart {
    Instant at;
    Lsn position;
    std::uint64_t events = 0;  // of a transaction that was cut
  };

  [[nodiscard]] const PostgresOptions& connection();
  void step(Instant now);
  [[nodiscard]] bool end_without_stream();
  void halt();
  [[nodiscard]] bool unread() const;
  [[nodiscard]] bool settled() const;
  void take_signals(Instant now);
  void wait_for_facts(Instant now);
  [[nodiscard]] bool slot_is_usable(const ServerFacts& facts);
  [[nodiscard]] bool starts_with_all_tables();
  [[nodiscard]] bool starts_with_fitting_mapping();
  void open_session(Instant now);
  void connect(Instant now);
  void tell_loss(Instant now);
  void choose_relay();
  void look_again();
  void read_progress();
  void on_gap(const std::string& gap);
  void new_relay(RelayOptions options);
  void start_stream();
  void begin_streaming(Instant now);
  void tell_server(int version, bool tls);
  void look_for_progress(Instant now);
  void stream(Instant now);
  void handle_relay_end(Instant now);
  void source_ended(Instant now);
  void make_way(Instant now);
  void replace_sink(const std::string& why);
  void renew_sink();
  void give_way();
  void tell_undrained() const;
  void drain_without_server();
  void finish_session(Phase next, Instant now);
  void end_session();
  void finish(Instant now);
  void wait_for_sink(Instant now);
  void resolve_relation();
  void check_drain_target(Instant now);
  [[nodiscard]] std::optional<Retention::Stream> retained_stream() const;

  void back_off(const std::string& why, Instant now);
  void enter(Phase phase, RelayState state);
  void stop(ExitCode code, const std::string& why);
  void report(Instant now);
  void report_wal_status();
  void report_statistics(Instant now);
  void report_sink(Instant now);
  void report_stall(Instant now);
  void report_queries(Instant now);
  void report_publication();
  [[nodiscard]] std::string not_published(const std::string& table) const;
  void sleep(Instant now);
  void gather();

  SupervisorParts parts_;
  std::optional<PostgresOptions> connection_;  // as it was read last
  ServerWatch watch_;
  Retention retention_;
  std::optional<WriteBack> write_back_;  // where it is configured
  std::unique_ptr<Sink> sink_;
  std::unique_ptr<Relay> relay_;
  std::unique_ptr<ReplicationSource> source_;
  std::optional<ServerHistory> history_;       // that relay_ belongs to
  std::optional<SessionStart> fresh_session_;  // until it has proved itself
  Lsn slot_position_;                          // asked for before the progress record is
  std::uint16_t epoch_ = 0;
  Backoff backoff_;
  Backoff sink_backoff_;
  Lsn sink_failed_at_;
  EventPoll poll_;

  Phase phase_ = Phase::waiting;
  Phase after_finish_ = Phase::waiting;
  Instant facts_wanted_since_{};
  Instant retry_at_{};
  bool gap_seen_ = false;  // by the last look at the progress record
  std::string loss_;
  Instant loss_deadline_{};
  Instant finish_deadline_{};
  StepResult work_;
  ReadPace pace_;
  bool watch_readable_ = false;
  bool write_back_readable_ = false;
  bool signals_readable_ = false;
  Instant signals_due_{};
  std::optional<RelationId> asked_for_;

  bool drain_requested_ = false;
  std::optional<Lsn> drain_target_;
  std::optional<int> signal_;
  Instant signal_came_{};
  std::optional<ExitCode> exit_;
  ExitCode exit_after_finish_ = ExitCode::done;
  Instant statistics_due_{};
  ToldReasons told_;
  std::string wal_status_;  // as told
  bool stalled_ = false;
  std::optional<Instant> sink_away_since_;
  std::string sink_trouble_;  // why it cannot be reached, as the log has it; "" if it has nothing
  std::vector<std::string> unpublished_;
  std::string publication_fault_;  // as told
  std::optional<Instant> queries_away_since_;
  int own_walsender_ = 0;  // PID, of the last session
};

}  // namespace walrelay
