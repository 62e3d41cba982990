// The relay with a progress record: nothing is confirmed before it is recorded, and nothing that is recorded is
// published again.

#include "tests/support/catch.h"
#include "tests/support/progress_records.h"
#include "tests/support/relay_bench.h"

namespace walrelay::test {
namespace {

using namespace std::chrono_literals;

RelayOptions recorded_at(std::uint64_t position, std::optional<CommitMark> covered = std::nullopt) {
  return {.delivery = {}, .progress = {record_at(position, covered), true}, .covered = covered};
}

Lsn recorded(const RelayBench& bench) { return parse_progress(bench.sink.progress.back())->position; }

void deliver(RelayBench& bench) {
  bench.step();
  bench.sink.ack_all();
  bench.step();
}

}  // namespace

TEST_CASE("a delivered transaction is confirmed only when its progress record is acknowledged") {
  RelayBench bench(recorded_at(1000));
  bench.transaction(1100, {"a"});
  deliver(bench);
  REQUIRE(bench.sink.progress.size() == 1);
  CHECK(recorded(bench) == Lsn{1100});
  CHECK(parse_progress(bench.sink.progress[0])->commit == CommitMark{Lsn{1100}, 1100, 1});
  const auto told = bench.source->sent().size();
  bench.step(StatusPolicy::kIntervalMax);
  CHECK(bench.relay.confirmed() == Lsn{1000});
  REQUIRE(bench.source->sent().size() > told);
  CHECK(bench.source->sent().back().flushed == Lsn{1000});
  bench.sink.answer_progress(DeliveryStatus::persisted);
  bench.step();
  CHECK(bench.relay.confirmed() == Lsn{1100});
  CHECK(bench.source->sent().back().flushed == Lsn{1100});
}

TEST_CASE("an idle position is recorded at most once a second, and at once if the server asks for a reply") {
  RelayBench bench(recorded_at(1000));
  bench.source->add(keepalive_frame(Lsn{1050}));
  bench.step();
  bench.sink.answer_progress(DeliveryStatus::persisted);
  bench.source->add(keepalive_frame(Lsn{1060}));
  bench.step(500ms);
  CHECK(bench.sink.progress.size() == 1);
  bench.source->add(keepalive_frame(Lsn{1070}, true));
  bench.step();
  CHECK(bench.sink.progress.size() == 2);
  CHECK(recorded(bench) == Lsn{1070});
}

TEST_CASE("a drain waits for the progress record") {
  RelayBench bench(recorded_at(1000));
  bench.transaction(1100, {"a"});
  deliver(bench);
  bench.relay.drain(bench.clock.now() + 10s);
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::none);
  bench.sink.answer_progress(DeliveryStatus::persisted);
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::drained);
  CHECK(bench.relay.confirmed() == Lsn{1100});
}

TEST_CASE("a progress record that is refused ends the relay, and nothing is confirmed") {
  RelayBench bench(recorded_at(1000));
  bench.transaction(1100, {"a"});
  deliver(bench);
  bench.sink.answer_progress(DeliveryStatus::failed);
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::progress_refused);
  CHECK(bench.relay.end_reason() == "no right");
  CHECK(bench.relay.confirmed() == Lsn{1000});
}

TEST_CASE("a progress record waits for room in the sink") {
  RelayBench bench(recorded_at(1000));
  bench.sink.progress_room = false;
  bench.transaction(1100, {"a"});
  deliver(bench);
  CHECK(bench.sink.progress.empty());
  bench.sink.progress_room = true;
  bench.step(ProgressGate::kRetry);
  CHECK(bench.sink.progress.size() == 1);
}

TEST_CASE("transactions that the record covers are passed over and confirmed, and the next one is published") {
  RelayBench bench(recorded_at(1250, CommitMark{Lsn{1200}, 1200, 1}));
  bench.transaction(1100, {"a", "b"});
  bench.transaction(1200, {"c"});
  bench.transaction(1300, {"d"});
  bench.step();
  REQUIRE(bench.sink.held().size() == 1);
  CHECK(bench.sink.value(0) == "d");
  CHECK(bench.relay.confirmed() == Lsn{1200});
  deliver(bench);
  CHECK(recorded(bench) == Lsn{1300});
}

TEST_CASE("a covered transaction that a lost connection cut is passed over in the next session") {
  RelayBench bench(recorded_at(1200, CommitMark{Lsn{1200}, 1200, 1}));
  bench.source->add(begin_frame(Lsn{1192}, 1200));
  bench.source->add(insert_frame("id", "k", "a"));
  bench.step();
  bench.connect();
  bench.transaction(1200, {"a", "b"});
  bench.transaction(1300, {"c"});
  bench.step();
  REQUIRE(bench.sink.held().size() == 1);
  CHECK(bench.sink.value(0) == "c");
}

TEST_CASE("a log that does not hold the recorded commit is a gap, and nothing of it is confirmed") {
  RelayBench bench(recorded_at(1250, CommitMark{Lsn{1200}, 1200, 1}));
  SECTION("another commit ends there") {
    bench.source->add(begin_frame(Lsn{1192}, 1199));
    bench.source->add(commit_frame(Lsn{1192}, Lsn{1200}));
  }
  SECTION("the same transaction at another time") {
    bench.source->add(begin_frame(Lsn{1192}, 1200, 2));
    bench.source->add(commit_frame(Lsn{1192}, Lsn{1200}));
  }
  SECTION("a commit reaches across it") {
    bench.source->add(begin_frame(Lsn{1192}, 1200));
    bench.source->add(commit_frame(Lsn{1192}, Lsn{1208}));
  }
  SECTION("the next commit lies beyond it") { bench.transaction(1300, {"d"}); }
  SECTION("the server's position lies beyond it") { bench.source->add(keepalive_frame(Lsn{1200})); }
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::gap);
  CHECK_THAT(bench.relay.end_reason(), ContainsSubstring("transaction 1200 ending at 0/4B0"));
  CHECK(bench.relay.confirmed() == Lsn{1000});
  CHECK(bench.sink.held().empty());
}

}  // namespace walrelay::test
