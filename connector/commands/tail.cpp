// `walrelay tail`: the relay on a slot that goes with the connection, printing what it would publish.

#include <fmt/format.h>

#include <csignal>
#include <optional>
#include <random>

#include "connector/commands/command_support.h"
#include "connector/commands/commands.h"
#include "connector/commands/tail_sink.h"
#include "connector/event_poll.h"
#include "connector/observe/log.h"
#include "connector/postgres/catalog.h"
#include "connector/postgres/pg_quote.h"
#include "connector/postgres/slot_admin.h"
#include "connector/relay.h"
#include "connector/replication_source.h"
#include "connector/sink_factory.h"

namespace walrelay {
namespace {

using Phase = ReplicationSource::Phase;

// What cannot be mapped is told and passed over, whatever `run` would do with it.
Config tail_config(Config config) {
  config.sink = {};
  config.sink.type = SinkType::stdout_lines;
  config.delivery.on_error = OnError::skip;
  config.delivery.on_error_by_class.clear();
  config.postgres.slot = fmt::format("walrelay_tail_{:08x}", std::random_device{}());
  return config;
}

class Tail {
 public:
  Tail(const Config& config, const TailFlags& flags)
      : config_(tail_config(config)),
        observer_(query_conninfo(config_)),
        router_(config_.outboxes),
        metrics_(router_.outbox_count()),
        sink_(make_sink(config_), flags),
        source_(replication_conninfo(config_.postgres.dsn, config_.postgres.slot), clock_.now()) {}

  ExitCode run() {
    if (!read_publication(observer_, config_.postgres.publication)) {
      throw PgError(PgTrouble::permanent,
                    fmt::format("there is no publication \"{}\" in this database; walrelay init makes it",
                                config_.postgres.publication));
    }
    while (source_.phase() != Phase::streaming) {
      if (const auto signal = signals_.take()) return code_of(*signal);
      if (source_.advance(clock_.now()) == Phase::ended) return source_ended();
      if (source_.phase() == Phase::identified) go_on();
      if (source_.phase() != Phase::streaming) wait_for_server();
    }
    say(fmt::format("printing events of publication \"{}\" from now on; nothing is confirmed",
                    config_.postgres.publication));
    return stream();
  }

 private:
  void go_on() {
    if (!slot_made_) {
      slot_made_ = true;
      making_since_ = clock_.now();
      return source_.make_temporary_slot(config_.postgres.slot);
    }
    const bool messages = router_.wants_messages() && source_.server_version() >= 140'000;
    source_.start(config_.postgres.slot, config_.postgres.publication, messages, Lsn{});
  }

  void wait_for_server() {
    EventPoll poll;
    poll.add(source_.descriptor(), source_.wants_write());
    poll.add(signals_.descriptor());
    poll.wait(std::chrono::milliseconds(500));
    const bool slow = source_.phase() == Phase::making_slot && clock_.now() - making_since_ > std::chrono::seconds(3);
    if (!slow || told_blockers_) return;
    told_blockers_ = true;
    say("the temporary slot waits for " + describe_blockers(observer_, source_.backend_pid()));
  }

  ExitCode stream() {
    Relay relay({.delivery = config_.delivery}, router_, sink_, metrics_, clock_, source_.history().flushed, 1);
    const auto timeout = observer_.exec("SELECT setting FROM pg_settings WHERE name = 'wal_sender_timeout'");
    relay.begin_session(source_, std::chrono::milliseconds(timeout[0].number("setting")), clock_.now());
    while (true) {
      if (const auto signal = signals_.take()) return code_of(*signal);
      const auto work = relay.step(clock_.now());
      if (sink_.finished()) return ExitCode::done;
      if (relay.end() == RelayEnd::source_ended) return source_ended();
      if (relay.end() != RelayEnd::none) {
        say("walrelay tail: " + relay.end_reason());
        return ExitCode::check_failed;
      }
      resolve(relay);
      if (work.idle()) sleep(relay);
    }
  }

  // Blocking is in nobody's way here.
  void resolve(Relay& relay) {
    const auto& unresolved = relay.unresolved();
    if (!unresolved) return;
    const auto table = read_table(observer_, unresolved->name);
    if (!table) return relay.cannot_resolve();
    for (const auto& ancestor : table->ancestors) {
      for (const auto& rules : config_.outboxes) {
        if (rules.table == ancestor) return relay.resolve(ancestor);
      }
    }
    relay.resolve(std::nullopt);
  }

  void sleep(const Relay& relay) {
    EventPoll poll;
    if (relay.reading()) {
      poll.add(source_.descriptor(), source_.wants_write());
    } else {
      poll.add_write_only(source_.descriptor(), source_.wants_write());
    }
    poll.add(sink_.descriptor());
    poll.add(signals_.descriptor());
    poll.wait(relay.deadline() - clock_.now());
  }

  ExitCode source_ended() {
    const auto& error = source_.error();
    say("walrelay tail: " + (error.message.empty() ? "the server ended the stream" : error.message));
    const bool permanent = classify(error.sqlstate, error.message) == PgTrouble::permanent;
    return permanent ? ExitCode::cannot_start : ExitCode::check_failed;
  }

  static ExitCode code_of(int signal) { return signal == SIGINT ? ExitCode::interrupted : ExitCode::terminated; }

  SignalFd signals_;  // before any thread
  SystemClock clock_;
  Config config_;
  PgConnection observer_;
  OutboxRouter router_;
  RelayMetrics metrics_;
  TailSink sink_;
  ReplicationSource source_;
  bool slot_made_ = false;
  bool told_blockers_ = false;
  Instant making_since_{};
};

}  // namespace

ExitCode tail_command(const Config& config, const TailFlags& flags) {
  return guarded("tail", [&] {
    configure_log(config.log);
    return Tail(config, flags).run();
  });
}

}  // namespace walrelay
