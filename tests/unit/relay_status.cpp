#include "tests/support/catch.h"
#include "tests/support/relay_bench.h"

namespace walrelay::test {

using namespace std::chrono_literals;

TEST_CASE("a keepalive is confirmed when nothing is in flight, and told within a second") {
  RelayBench bench;
  bench.step();
  bench.source->add(keepalive_frame(Lsn{5000}));
  bench.step(1ms);
  bench.step(200ms);
  CHECK(bench.source->sent().back().flushed == Lsn{5000});
}

TEST_CASE("a keepalive is not confirmed while a record is open") {
  RelayBench bench;
  bench.transaction(1100, {"a"});
  bench.source->add(keepalive_frame(Lsn{5000}, true));
  bench.step();
  CHECK(bench.source->sent().back().flushed == Lsn{1000});
  CHECK(bench.source->sent().back().written == Lsn{1100});  // or the server would not repeat the keepalive
  CHECK(bench.source->sent().back().applied == Lsn{1000});
}

TEST_CASE("a reply that is asked for goes out in the same step") {
  RelayBench bench;
  bench.step();
  const auto before = bench.source->sent().size();
  bench.source->add(keepalive_frame(Lsn{1000}, true));
  bench.step(1ms);
  CHECK(bench.source->sent().size() == before + 1);
}

TEST_CASE("status goes on while reading is paused") {
  RelayBench bench;
  bench.sink.room = 0;
  bench.transaction(1100, {"a"});
  for (int i = 0; i < 10; ++i) bench.step(10s);
  CHECK(bench.relay.paused());
  CHECK(bench.source->sent().size() >= 10);
}

TEST_CASE("no status carries an invalid position or one beyond what is settled") {
  RelayBench bench;
  bench.transaction(1100, {"a"});
  bench.transaction(1200, {"b"});
  bench.step();
  bench.sink.ack(1);
  for (int i = 0; i < 5; ++i) bench.step(10s);
  for (const auto& status : bench.source->sent()) {
    CHECK(status.flushed == Lsn{1000});
    CHECK(status.applied == Lsn{1000});
    CHECK(status.written >= status.flushed);
  }
}

// A process that was suspended finds megabytes in its socket that another instance has delivered meanwhile.
TEST_CASE("what is left of a session is not read once the server, unheard for wal_sender_timeout, must have ended it") {
  RelayBench bench;
  bench.step();
  const bool blocked = GENERATE(false, true);
  bench.transaction(1100, {"a"});
  if (blocked) {
    bench.sink.room = 0;
    bench.step();
    bench.sink.room = 1;
  }
  bench.step(60s);
  CHECK(bench.sink.held().empty());
  CHECK(bench.relay.end() == RelayEnd::session_expired);
  CHECK_THAT(bench.relay.end_reason(), ContainsSubstring("60000 ms"));
  bench.connect();
  bench.transaction(1100, {"a"});
  bench.step();
  CHECK(bench.sink.held().size() == 1);
}

TEST_CASE("what an earlier relay has in flight does not make its successor look stalled") {
  RelayBench bench;
  bench.transaction(1100, {"a"});
  bench.step();
  Relay successor({}, bench.router, bench.sink, bench.metrics, bench.clock, Lsn{1000}, 2);
  successor.step(bench.clock.now());
  CHECK(successor.stalled_for(bench.clock.now()) == Duration::zero());
  bench.clock.advance(5s);
  successor.step(bench.clock.now());
  CHECK(successor.stalled_for(bench.clock.now()) == 5s);
}

TEST_CASE("a relay is stalled by the time since the last delivery, only while something waits for the sink") {
  RelayBench bench;
  bench.step(50s);
  CHECK(bench.relay.stalled_for(bench.clock.now()) == 0s);
  bench.transaction(1100, {"a", "b"});
  bench.step();
  bench.step(30s);
  CHECK(bench.relay.stalled_for(bench.clock.now()) == 30s);
  bench.sink.ack(0);
  bench.step();
  CHECK(bench.relay.stalled_for(bench.clock.now()) == 0s);
}

TEST_CASE("silence counts only while the relay reads, and the server is asked after half its time-out") {
  RelayBench bench;
  bench.step();
  bench.step(20s);
  CHECK_FALSE(bench.source->sent().back().reply_requested);
  bench.step(20s);
  CHECK(bench.source->sent().back().reply_requested);
  CHECK(bench.relay.silent_for(bench.clock.now()) == 40s);
  bench.sink.room = 0;
  bench.transaction(1100, {"a"});
  bench.step();
  for (int i = 0; i < 6; ++i) bench.step(50s);
  CHECK(bench.relay.silent_for(bench.clock.now()) == 0s);
}

TEST_CASE("the oldest unconfirmed commit is known while there is one") {
  RelayBench bench;
  bench.source->add(begin_frame(Lsn{1092}, 7, 12345));
  bench.source->add(insert_frame("1", "k", "a"));
  bench.source->add(commit_frame(Lsn{1092}, Lsn{1100}));
  bench.step();
  CHECK(bench.metrics.oldest_unconfirmed_commit.value() == 12345);
  bench.sink.ack(0);
  bench.step();
  CHECK(bench.metrics.oldest_unconfirmed_commit.value() == RelayMetrics::kNoCommitWaiting);
}

TEST_CASE("how far the stream is behind is told by the server's clock alone, from commit to sending") {
  RelayBench bench;
  bench.source->add(begin_frame(Lsn{1992}, 7, 5'000'000, 5'250'000));
  bench.step(50s);
  CHECK(bench.relay.backlog() == std::chrono::milliseconds(250));
  bench.source->add(commit_frame(Lsn{1992}, Lsn{2000}));
  bench.source->add(begin_frame(Lsn{2992}, 8, 6'000'000, 6'001'000));
  bench.step();
  CHECK(bench.relay.backlog() == std::chrono::milliseconds(1));
}

}  // namespace walrelay::test
