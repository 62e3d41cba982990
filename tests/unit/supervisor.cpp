// The supervisor's loop, between a server and a sink that are the test's.

#include "connector/supervisor.h"

#include <csignal>

#include "connector/config/setting.h"
#include "connector/progress_record.h"
#include "sinks/sink_error.h"
#include "tests/support/catch.h"
#include "tests/support/caught_log.h"
#include "tests/support/fake_postgres.h"
#include "tests/support/held_sink.h"
#include "tests/support/stream_bytes.h"

namespace walrelay::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Goes with the time, and can be put forward or stopped.
class ForwardClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return stopped_ ? *stopped_ : clock_.now() + ahead_; }
  [[nodiscard]] PgTime wall() const override { return clock_.wall(); }
  void forward(Duration duration) { ahead_ += duration; }
  void stop() { stopped_ = now(); }
  void go_on() { stopped_.reset(); }

 private:
  SystemClock clock_;
  Duration ahead_{};
  std::optional<Instant> stopped_;
};

// One event in one transaction, which was committed `age` before the server sends it.
std::vector<std::string> frames_of_age(std::int64_t age_us) {
  constexpr std::uint64_t kSent = 800'000'000'000'000;
  return {relation_frame(), begin_frame(Lsn{1992}, 7, kSent - static_cast<std::uint64_t>(age_us), kSent),
          insert_frame("1", "k", "v"), commit_frame(Lsn{1992}, Lsn{2000})};
}

class SupervisorBench {
 public:
  explicit SupervisorBench(std::vector<std::string> frames = frames_of_age(0),
                           std::vector<std::string> columns = {"id", "key", "payload"})
      : server_(std::move(frames), std::move(columns)) {
    config.postgres.dsn = server_.dsn();
    config.postgres.slot = "relay";
    config.postgres.publication = "relay";
    config.outboxes = stream_rules();
  }

  // `turn` is called at each turn of the loop.
  ExitCode run(std::function<void(HeldSink&)> turn, StoredProgress::State progress = {}, bool drain = false) {
    HeldSink* sink = nullptr;
    OutboxRouter router(config.outboxes);
    StatusBoard board(clock.wall());
    RelayMetrics metrics(1);
    const auto make_sink = [&] {
      if (!makes_sinks) throw SinkConfigError("the file of a certificate is missing");
      ++sinks_made;
      auto made = std::make_unique<HeldSink>();
      sink = made.get();
      sink->stored.state = progress;
      return made;
    };
    Supervisor supervisor({config, router, metrics, board, clock, make_sink, signals_,
                           [&] {
                             if (!secrets_readable) throw ConfigError("the file of the password cannot be read");
                             return config.postgres;
                           },
                           [&](Instant now) {
                             if (now > give_up_) ::raise(SIGTERM);
                             turn(*sink);
                           }},
                          1);
    return supervisor.run(drain);
  }

  void stop_server() { server_.stop(); }
  void confirm(Lsn position) { server_.confirm(position); }
  void take_slot() { server_.take_slot(); }

  [[nodiscard]] std::size_t logged(std::string_view event) {
    lines_ += log.read_some();
    std::size_t count = 0;
    for (auto at = lines_.find(event); at != std::string::npos; at = lines_.find(event, at + 1)) ++count;
    return count;
  }

  Config config;
  bool secrets_readable = true;
  bool makes_sinks = true;
  int sinks_made = 0;
  ForwardClock clock;
  CaughtLog log{{}};

 private:
  SignalFd signals_;  // before the server's thread
  FakePostgres server_;
  std::string lines_;
  Instant give_up_ = clock.now() + seconds(20);
};

// It is in libpq's buffer by then, where no descriptor tells of it.
TEST_CASE("what follows a relation that the catalog has to be asked about is read as soon as it has answered") {
  Duration best = seconds(20);  // of a few, since other work may hold any of them up
  for (int i = 0; i < 3; ++i) {
    SupervisorBench bench({begin_frame(Lsn{1992}, 7), relation_frame(kOtherRelation, "partition_of_outbox"),
                           insert_frame("1", "k", "v", kOtherRelation), commit_frame(Lsn{1992}, Lsn{2000})});
    Duration longest_turn{};
    Instant last = bench.clock.now();
    bool ended = false;
    bench.run([&](HeldSink& sink) {
      const Instant now = bench.clock.now();
      longest_turn = std::max(longest_turn, now - std::exchange(last, now));
      if (sink.held().empty() || std::exchange(ended, true)) return;
      best = std::min(best, longest_turn);
      sink.ack_all();
      ::raise(SIGTERM);
    });
  }
  CHECK(best < milliseconds(300));
}

TEST_CASE("the sink is told to expect more as long as commits come late") {
  const auto [age_us, more] = GENERATE(std::pair{200'000, true}, std::pair{1'000, false});
  SupervisorBench bench(frames_of_age(age_us));
  std::optional<bool> told;
  bench.run([&](HeldSink& sink) {
    if (sink.held().empty()) return;
    told = sink.more_expected;
    sink.ack_all();
    ::raise(SIGTERM);
  });
  CHECK(told == more);
}

TEST_CASE("a mapping that the table's columns do not fit ends the relay before the stream, unless its rows may pass") {
  SupervisorBench bench(frames_of_age(0), {"id", "payload"});
  const bool passes = GENERATE(false, true);
  if (passes) bench.config.delivery.on_error_by_class[FailureClass::mapping] = OnError::skip;
  bool streamed = false;
  const auto code = bench.run([&](HeldSink& sink) {
    if (sink.held().empty() || std::exchange(streamed, true)) return;
    sink.ack_all();
    ::raise(SIGTERM);
  });
  CHECK(code == (passes ? ExitCode::terminated : ExitCode::usage));
  CHECK(streamed == passes);
  CHECK_THAT(bench.log.read_some(), ContainsSubstring("key = \"{key}\": table public.outbox has no column \"key\""));
}

TEST_CASE("a column of write-back that is not there is a warning, and the stream begins") {
  SupervisorBench bench;
  bench.config.outboxes[0].processed_at = "processed_at";
  std::string told;
  const auto code = bench.run([&](HeldSink& sink) {
    told += bench.log.read_some();
    if (sink.held().empty()) return;
    sink.ack_all();
    ::raise(SIGTERM);
  });
  CHECK(code == ExitCode::terminated);
  CHECK_THAT(told, ContainsSubstring("write_back_unfit") && ContainsSubstring("has no column \"processed_at\""));
}

TEST_CASE("a catalog that may not be read is a warning, and the stream begins") {
  SupervisorBench bench(frames_of_age(0), {});
  const auto code = bench.run([&](HeldSink& sink) {
    if (sink.held().empty()) return;
    sink.ack_all();
    ::raise(SIGTERM);
  });
  CHECK(code == ExitCode::terminated);
  CHECK_THAT(bench.log.read_some(), ContainsSubstring("mapping_unchecked") && ContainsSubstring("permission denied"));
}

TEST_CASE("the progress record that a drain waits for is written without the usual interval") {
  auto frames = frames_of_age(0);
  const std::vector<std::string> rest = {begin_frame(Lsn{8192}, 8), insert_frame("2", "k", "w"),
                                         commit_frame(Lsn{8192}, Lsn{8200})};
  frames.insert(frames.end(), rest.begin(), rest.end());
  SupervisorBench bench(frames);
  int turns = 0;  // in which no time has passed
  std::optional<Lsn> recorded;
  const auto code = bench.run(
      [&](HeldSink& sink) {
        if (turns > 0 && ++turns > 20) bench.clock.go_on();
        if (!sink.progress.empty()) recorded = parse_progress(sink.progress.back())->position;
        if (sink.held().size() == 2) {
          bench.clock.forward(ProgressGate::kEventsInterval);
          bench.clock.stop();
          turns = 1;
          sink.ack(0);
        } else if (sink.held().size() == 1 && recorded == Lsn{2000}) {
          sink.ack(0);
        }
        if (recorded == Lsn{8200}) bench.clock.go_on();
        if (sink.progress_under_way()) sink.answer_progress(DeliveryStatus::persisted);
      },
      StoredProgress::State::ready, true);
  CHECK(code == ExitCode::done);
  CHECK(recorded == Lsn{8200});
  CHECK(turns > 0);
  CHECK(turns <= 20);
}

TEST_CASE("signals that come at once are one, and one that comes later ends the drain") {
  SupervisorBench bench;
  enum { streaming, draining, later, ending } stage = streaming;
  const auto code = bench.run([&](HeldSink& sink) {
    if (stage == streaming && !sink.held().empty()) {
      ::raise(SIGTERM);
      ::raise(SIGINT);  // the same one twice would be pending only once
      stage = draining;
    } else if (stage == draining && bench.log.read_some().find("draining") != std::string::npos) {
      bench.clock.forward(seconds(2));
      stage = later;
    } else if (stage == later) {
      ::raise(SIGTERM);
      stage = ending;
    }
  });
  CHECK(code == ExitCode::terminated);
  CHECK(stage == ending);
  CHECK_THAT(bench.log.read_some(), ContainsSubstring("second signal"));
}

TEST_CASE("what is in flight is waited for at a signal, and a server that is away or goes away is not") {
  const bool away_before = GENERATE(false, true);
  SupervisorBench bench({relation_frame(), begin_frame(Lsn{1992}, 7), insert_frame("1", "k", "v")});
  std::string told;
  enum { streaming, draining, alone, acknowledged } stage = streaming;
  const auto code = bench.run([&](HeldSink& sink) {
    told += bench.log.read_some();
    const auto has = [&](const char* text) { return told.find(text) != std::string::npos; };
    const auto end = [&](bool server) { server ? bench.stop_server() : static_cast<void>(::raise(SIGTERM)); };
    if (stage == streaming && !sink.held().empty()) {
      end(away_before);
      stage = draining;
    } else if (stage == draining && has(away_before ? "reconnecting" : "draining")) {
      end(!away_before);
      stage = alone;
    } else if (stage == alone && has("reconnecting") && has("draining")) {
      sink.ack_all();  // in flight until now
      stage = acknowledged;
    }
  });
  told += bench.log.read_some();
  CHECK(code == ExitCode::terminated);
  CHECK(stage == acknowledged);
  CHECK_THAT(told, ContainsSubstring("drain_timeout") && !ContainsSubstring("second signal"));
}

TEST_CASE("a progress record that is long in coming does not count as the server's silence") {
  SupervisorBench bench;
  bool waited = false;
  bench.run(
      [&](HeldSink& sink) {
        while (sink.progress_under_way()) sink.answer_progress(DeliveryStatus::persisted);
        if (sink.reads > 0 && !std::exchange(waited, true)) {
          bench.clock.forward(seconds(15));
          sink.stored.state = StoredProgress::State::ready;
        }
        if (sink.held().empty()) return;
        sink.ack_all();
        ::raise(SIGTERM);
      },
      StoredProgress::State::pending);
  CHECK(waited);
  CHECK_THAT(bench.log.read_some(), ContainsSubstring("streaming_started") && !ContainsSubstring("no answer"));
}

TEST_CASE("a stream that fails each time before it has brought anything is begun again ever more slowly") {
  SupervisorBench bench({xlog_frame("no message")});
  const Instant begin = bench.clock.now();
  bench.run([&](HeldSink&) {
    if (bench.clock.now() - begin >= seconds(2)) ::raise(SIGTERM);
  });
  const auto begun = bench.logged("streaming_started");
  CHECK(begun >= 3);
  CHECK(begun <= 7);
  CHECK(bench.logged("reconnecting") == 1);
}

TEST_CASE("a secret that cannot be read at a new connect is taken as it was read last") {
  SupervisorBench bench({xlog_frame("no message")});
  bool ended = false;
  const auto code = bench.run([&](HeldSink&) {
    const auto begun = bench.logged("streaming_started");
    bench.secrets_readable = begun == 0;
    if (begun == 3 && !std::exchange(ended, true)) ::raise(SIGTERM);
  });
  CHECK(code == ExitCode::terminated);
  CHECK(bench.logged("the file of the password cannot be read") == 1);
}

TEST_CASE("what is in flight is given up once another instance has the slot, and a sink without anything is kept") {
  const bool in_flight = GENERATE(true, false);
  SupervisorBench bench;
  bool taken = false;
  bench.run([&](HeldSink& sink) {
    if (!sink.held().empty() && !std::exchange(taken, true)) {
      if (!in_flight) sink.ack_all();
      bench.take_slot();
    }
    if (bench.logged("standby") > 0) ::raise(SIGTERM);
  });
  CHECK(bench.sinks_made == (in_flight ? 2 : 1));
}

// What ends a relay for its configuration is not started again by systemd.
TEST_CASE("a new sink that cannot be made is not the fault of a configuration that worked before") {
  SupervisorBench bench;
  CHECK_THROWS_AS(bench.run([&](HeldSink& sink) {
    if (sink.held().empty()) return;
    bench.makes_sinks = false;
    sink.fatal = "broken by the test";
  }),
                  SinkOpenError);
}

TEST_CASE("a relay that halts while the server is away ends without waiting for it") {
  SupervisorBench bench;
  const Instant begin = bench.clock.now();
  const auto code = bench.run([&](HeldSink& sink) {
    if (sink.held().empty()) return;
    bench.stop_server();
    if (bench.logged("reconnecting") > 0) sink.fail(0, FailureClass::too_large);
  });
  CHECK(code == ExitCode::poison);
  CHECK(bench.clock.now() - begin < seconds(10));
  CHECK(bench.logged("cannot be delivered") == 1);
}

TEST_CASE("a progress record that is refused while the server is away ends the relay, too") {
  SupervisorBench bench;
  const auto code = bench.run([&](HeldSink& sink) {
    sink.stored.state = StoredProgress::State::ready;
    if (!sink.held().empty()) sink.ack_all();
    if (!sink.progress_under_way()) return;
    bench.stop_server();
    if (bench.logged("reconnecting") > 0) sink.answer_progress(DeliveryStatus::failed);
  });
  CHECK(code == ExitCode::cannot_start);
}

TEST_CASE("while no broker can be reached a relay stays disconnected, also with nothing in flight") {
  SupervisorBench bench;
  bench.config.delivery.stall_disconnect = milliseconds(200);
  const Instant begin = bench.clock.now();
  bench.run([&](HeldSink& sink) {
    sink.reachable = bench.clock.now() - begin >= milliseconds(3500);
    sink.room = sink.reachable ? 1 : 0;
    if (sink.held().empty()) return;
    sink.ack_all();
    ::raise(SIGTERM);
  });
  CHECK(bench.logged("sink_stalled") == 1);
  CHECK(bench.logged("sink_back") == 1);
}

// Another one had the slot in between, and the record tells of what that one has published.
TEST_CASE("a slot that has moved while the progress record was waited for is looked at again, and is no gap") {
  SupervisorBench bench({keepalive_frame(Lsn{3000})});
  const ProgressRecord record{.slot = "relay",
                              .system_identifier = "1",
                              .timeline = 1,
                              .database = "shop",
                              .position = Lsn{2000},
                              .commit = CommitMark{Lsn{2000}, 7, 1}};
  std::optional<Instant> moved;
  bool ended = false;
  const auto code = bench.run(
      [&](HeldSink& sink) {
        if (!moved && sink.reads > 0) {
          bench.confirm(record.position);
          moved = bench.clock.now();
        }
        if (moved && bench.clock.now() - *moved > milliseconds(1500)) {
          sink.stored = {StoredProgress::State::ready, {to_json(record)}, ""};
        }
        if (!sink.progress.empty() && !std::exchange(ended, true)) ::raise(SIGTERM);
        if (sink.progress_under_way()) sink.answer_progress(DeliveryStatus::persisted);
      },
      StoredProgress::State::pending);
  CHECK(code == ExitCode::terminated);
  CHECK(bench.logged("streaming_started") == 1);
}

}  // namespace
}  // namespace walrelay::test
