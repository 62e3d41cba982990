// The relay with write-back: nothing is confirmed before its row is written or given up.

#include "tests/support/catch.h"
#include "tests/support/progress_records.h"
#include "tests/support/relay_bench.h"

namespace walrelay::test {
namespace {

using namespace std::chrono_literals;
using Kind = WriteBackBatch::Kind;

struct WriteBackBench {
  explicit WriteBackBench(DeliveryOptions delivery = {}, ProgressGate progress = {},
                          std::optional<CommitMark> covered = std::nullopt)
      : queue({{true, true}}, delivery.on_error != OnError::halt, delivery.max_in_flight),
        bench(RelayOptions{
            .delivery = delivery, .progress = std::move(progress), .covered = covered, .write_back = &queue}) {}

  // The next batch is written; what it was.
  std::string write() {
    WriteBackBatch batch = queue.begin();
    queue.finished();
    bench.step();
    return batch.ids;
  }
  [[nodiscard]] Lsn confirmed() const { return bench.relay.confirmed(); }

  WriteBackQueue queue;
  RelayBench bench;
};

ProgressGate gate_at(std::uint64_t position, std::optional<CommitMark> commit = std::nullopt) {
  return {record_at(position, commit), true};
}

}  // namespace

TEST_CASE("acks in any order: a position waits until the rows before it are written") {
  WriteBackBench t;
  t.bench.transaction(1100, {"a", "b"});
  t.bench.transaction(1200, {"c"});
  t.bench.step();
  t.bench.sink.ack(2);
  t.bench.sink.ack(1);
  t.bench.step();
  CHECK(t.queue.idle());
  t.bench.sink.ack(0);
  t.bench.step(5s);
  CHECK(t.confirmed() == Lsn{1000});
  CHECK(t.bench.source->sent().back().flushed == Lsn{1000});
  CHECK(t.write() == R"({"id-a","id-b","id-c"})");
  CHECK(t.confirmed() == Lsn{1200});
}

TEST_CASE("a progress record does not wait for write-back, and the position waits for both") {
  WriteBackBench t({}, gate_at(1000));
  t.bench.transaction(1100, {"a"});
  t.bench.step();
  t.bench.sink.ack_all();
  t.bench.step();
  REQUIRE(t.bench.sink.progress.size() == 1);
  SECTION("the record is first") {
    t.bench.sink.answer_progress(DeliveryStatus::persisted);
    t.bench.step();
    CHECK(t.confirmed() == Lsn{1000});
    t.write();
  }
  SECTION("the row is first") {
    t.write();
    CHECK(t.confirmed() == Lsn{1000});
    t.bench.sink.answer_progress(DeliveryStatus::persisted);
    t.bench.step();
  }
  CHECK(t.confirmed() == Lsn{1100});
}

TEST_CASE("rows of covered transactions are written, though their events are not published again") {
  const CommitMark covered{Lsn{1200}, 1200, 1};
  WriteBackBench t({}, gate_at(1200, covered), covered);
  t.bench.transaction(1100, {"a"});
  t.bench.source->add(begin_frame(Lsn{1192}, 1200));
  t.bench.source->add(insert_frame("id-b", "k", "b"));
  t.bench.step();
  t.bench.connect();  // in the middle of a transaction
  t.bench.transaction(1200, {"b", "c"});
  t.bench.step();
  CHECK(t.bench.sink.held().empty());
  CHECK(t.confirmed() == Lsn{1000});
  CHECK(t.write() == R"({"id-a","id-b","id-c"})");
  CHECK(t.confirmed() == Lsn{1200});
}

TEST_CASE("a dead letter's row is told why, and not marked, the progress record waits for that") {
  WriteBackBench t(on_error(OnError::dead_letter), gate_at(1000));
  t.bench.transaction(1100, {"a", "b"});
  t.bench.step();
  t.bench.sink.fail(0, FailureClass::topic);
  t.bench.step();
  t.bench.sink.ack_all();
  t.bench.step();
  CHECK(t.bench.sink.progress.empty());
  WriteBackBatch& failure = t.queue.begin();
  CHECK(failure.kind == Kind::failed);
  CHECK(failure.ids == "id-a");
  CHECK(failure.reason == "topic: id id-a: refused by the test");
  t.queue.finished();
  t.bench.step();
  CHECK(t.bench.sink.progress.size() == 1);
  CHECK(t.write() == R"({"id-b"})");
}

TEST_CASE("an event that is refused before it is sent is told in its row: skipped, or the one that halts") {
  const bool halts = GENERATE(true, false);
  WriteBackBench t(on_error(halts ? OnError::halt : OnError::skip));
  t.bench.sink.reject_value = "a";
  t.bench.transaction(1100, {"a"});
  t.bench.step();
  REQUIRE(t.queue.failures_pending());
  CHECK(t.confirmed() == Lsn{1000});
  CHECK(t.bench.relay.end() == RelayEnd::none);
  CHECK(t.write() == "id-a");
  CHECK(t.bench.relay.end() == (halts ? RelayEnd::poison : RelayEnd::none));
  CHECK(t.confirmed() == (halts ? Lsn{1000} : Lsn{1100}));
}

TEST_CASE("a halt does not wait for write-back for ever") {
  WriteBackBench t;
  t.bench.sink.reject_value = "a";
  t.bench.transaction(1100, {"a"});
  t.bench.step();
  t.bench.step(DeliveryOptions{}.drain_timeout);
  CHECK(t.bench.relay.end() == RelayEnd::poison);
}

TEST_CASE("an event that --skip names has its row left alone") {
  DeliveryOptions delivery;
  delivery.skip = SkipList({"id-a"});
  WriteBackBench t(delivery);
  t.bench.transaction(1100, {"a"});
  t.bench.step();
  CHECK(t.queue.idle());
  CHECK(t.confirmed() == Lsn{1100});
}

TEST_CASE("a drain waits for write-back, and hurries it") {
  WriteBackBench t;
  t.bench.transaction(1100, {"a"});
  t.bench.step();
  t.bench.sink.ack_all();
  t.bench.relay.drain(t.bench.clock.now() + 10s);
  t.bench.step();
  t.bench.step();
  CHECK(t.bench.relay.end() == RelayEnd::none);
  REQUIRE(t.queue.due());
  CHECK(*t.queue.due() <= t.bench.clock.now());
  t.write();
  CHECK(t.bench.relay.end() == RelayEnd::drained);
  CHECK(t.confirmed() == Lsn{1100});
}

TEST_CASE("a transaction larger than the queue goes through it piece by piece") {
  DeliveryOptions delivery;
  delivery.max_in_flight = 2;
  WriteBackBench t(delivery);
  t.bench.transaction(1100, {"a", "b", "c", "d", "e"});
  std::string written;
  for (int i = 0; i < 30 && t.confirmed() < Lsn{1100}; ++i) {
    t.bench.step();
    CHECK(t.queue.pending() <= 2);
    CHECK_FALSE((t.bench.relay.reading() && t.queue.full()));
    t.bench.sink.ack_all();
    if (t.queue.due()) written += t.write();
  }
  CHECK(written == R"({"id-a","id-b"}{"id-c","id-d"}{"id-e"})");
  CHECK(t.confirmed() == Lsn{1100});
}

}  // namespace walrelay::test
