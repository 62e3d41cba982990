// What is to be written back, in which order, and what may be confirmed meanwhile.

#include "connector/write_back_queue.h"

#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

using namespace std::chrono_literals;
using Kind = WriteBackBatch::Kind;

// Time stands at `now`; transactions are named by their end, and their commit records stand 8 bytes before it.
struct QueueBench {
  explicit QueueBench(std::size_t rows_max = 100'000, WriteBackQueue::Use use = {true, true}, bool failures_pass = true)
      : queue({use, use}, failures_pass, rows_max) {
    queue.restart(Lsn{1000});
  }

  static TransactionStart transaction(std::uint64_t end) {
    return {Lsn{end - 8}, static_cast<std::uint32_t>(end), static_cast<PgTime>(end)};
  }
  void sent(std::uint64_t end, std::string_view id, std::size_t outbox = 0) {
    queue.sent(outbox, transaction(end), id);
  }
  void fail(std::uint64_t end, std::string_view id) {
    queue.failed(0, transaction(end), id, {FailureClass::too_large, "no room"}, now);
  }
  void settled(std::uint64_t frontier) { queue.settled(Lsn{frontier}, now); }
  [[nodiscard]] bool is_due() const { return queue.due() && *queue.due() <= now; }

  WriteBackQueue queue;
  Instant now{1h};
};

TEST_CASE("a row is due once the frontier has passed its transaction, and holds the position until it is written") {
  QueueBench bench;
  bench.sent(1100, "a");
  bench.sent(1200, "b");
  CHECK(bench.queue.idle());
  bench.settled(1100);
  bench.now += WriteBackQueue::kBatchDelay;
  REQUIRE(bench.is_due());
  CHECK(bench.queue.begin().ids == R"({"a"})");
  CHECK(bench.queue.confirmable(Lsn{1100}) == Lsn{1000});
  bench.queue.finished();
  CHECK(bench.queue.confirmable(Lsn{1100}) == Lsn{1100});
  CHECK(bench.queue.pending() == 1);
}

TEST_CASE("a position is not confirmable while a row before it is not even due") {
  QueueBench bench;
  bench.sent(1100, "a");
  CHECK(bench.queue.confirmable(Lsn{1150}) == Lsn{1000});
  CHECK(bench.queue.confirmable(Lsn{1092}) == Lsn{1092});
}

TEST_CASE("a batch knows the transactions of its rows, each once, and takes no more rows once those are seen") {
  QueueBench bench;
  bench.sent(1100, "a");
  bench.sent(1100, "b");
  bench.sent(1200, "c");
  bench.settled(1200);
  WriteBackBatch& batch = bench.queue.begin();
  CHECK(batch.writers == std::vector<std::uint32_t>{1100, 1200});
  batch.visible = true;
  bench.queue.put_back();
  bench.sent(1300, "d");
  bench.settled(1300);
  CHECK(bench.queue.begin().rows == 3);
  bench.queue.finished();
  CHECK(bench.queue.begin().writers == std::vector<std::uint32_t>{1300});
  bench.queue.finished();
  bench.fail(1400, "e");
  CHECK(bench.queue.begin().writers == std::vector<std::uint32_t>{1400});
}

TEST_CASE("rows of one table are gathered for a moment, up to a batch") {
  QueueBench bench;
  for (std::uint64_t i = 0; i <= WriteBackQueue::kBatchRowsMax; ++i) {
    bench.sent(1100 + 10 * i, "x");
    bench.settled(1100 + 10 * i);
    if (i == 0) CHECK_FALSE(bench.is_due());
  }
  REQUIRE(bench.is_due());
  const WriteBackBatch& first = bench.queue.begin();
  CHECK(first.rows == WriteBackQueue::kBatchRowsMax);
  CHECK(first.before == Lsn{1000});
  bench.queue.finished();
  CHECK_FALSE(bench.is_due());
  CHECK(bench.queue.confirmable(Lsn{20'000}) == Lsn{1100 + 10 * (WriteBackQueue::kBatchRowsMax - 1)});
  bench.queue.hurry();
  CHECK(bench.is_due());
}

TEST_CASE("rows of two tables are batches of their own, and each holds the position") {
  QueueBench bench;
  bench.sent(1100, "a", 0);
  bench.sent(1200, "b", 1);
  bench.sent(1300, "c", 0);
  bench.settled(1300);
  CHECK(bench.queue.begin().ids == R"({"a","c"})");
  bench.queue.finished();
  CHECK(bench.queue.confirmable(Lsn{1300}) == Lsn{1000});
  CHECK(bench.queue.begin().outbox == 1);
  bench.queue.finished();
  CHECK(bench.queue.confirmable(Lsn{1300}) == Lsn{1300});
}

TEST_CASE("a batch that is put back is the next one again, and holds what it held") {
  QueueBench bench;
  bench.sent(1100, "a");
  bench.settled(1100);
  bench.sent(1200, "b");
  static_cast<void>(bench.queue.begin());
  bench.settled(1200);
  bench.queue.put_back();
  CHECK(bench.queue.confirmable(Lsn{1200}) == Lsn{1000});
  CHECK(bench.queue.begin().ids == R"({"a"})");
  bench.queue.finished();
  CHECK(bench.queue.confirmable(Lsn{1200}) == Lsn{1100});
}

TEST_CASE("a refused event's row is told at once, and is not marked when its transaction is settled") {
  QueueBench bench;
  bench.sent(1100, "a");
  bench.sent(1100, "b");
  bench.fail(1100, "a");
  REQUIRE(bench.is_due());
  CHECK(bench.queue.failures_pending());
  const WriteBackBatch failure = bench.queue.begin();
  CHECK(failure.kind == Kind::failed);
  CHECK(failure.ids == "a");
  CHECK(failure.reason == "too-large: no room");
  bench.queue.finished();
  CHECK_FALSE(bench.queue.failures_pending());
  bench.settled(1100);
  CHECK(bench.queue.begin().ids == R"({"b"})");
}

TEST_CASE("a table without columns for failures has its refused rows left alone") {
  QueueBench bench(100, {true, false});
  bench.sent(1100, "a");
  bench.fail(1100, "a");
  bench.settled(1100);
  CHECK(bench.queue.idle());
  CHECK(bench.queue.confirmable(Lsn{1100}) == Lsn{1100});
}

TEST_CASE("covered rows are marked apart, and only where a failure could be told from them") {
  CHECK(QueueBench(100, {true, true}, true).queue.wants_covered(0));
  CHECK(QueueBench(100, {true, false}, false).queue.wants_covered(0));
  CHECK_FALSE(QueueBench(100, {true, false}, true).queue.wants_covered(0));
  CHECK_FALSE(QueueBench(100, {false, true}, true).queue.wants_covered(0));
  QueueBench bench;
  bench.queue.covered(0, QueueBench::transaction(1100), "a");
  bench.queue.covered_met();
  bench.sent(1200, "b");
  bench.settled(1200);
  CHECK(bench.queue.begin().kind == Kind::covered);
  bench.queue.finished();
  CHECK(bench.queue.begin().kind == Kind::delivered);
}

TEST_CASE(
    "covered rows are left alone, and hold the position, until the recorded commit is met, the last ones are kept") {
  QueueBench bench(2);
  for (const auto* id : {"a", "b", "c"}) bench.queue.covered(0, QueueBench::transaction(1100), id);
  bench.settled(1100);
  CHECK(bench.queue.idle());
  CHECK_FALSE(bench.queue.full());
  CHECK(bench.queue.confirmable(Lsn{1100}) == Lsn{1000});
  bench.queue.covered(0, QueueBench::transaction(1200), "d");
  bench.queue.covered_met();
  bench.settled(1200);
  CHECK(bench.queue.confirmable(Lsn{1200}) == Lsn{1000});
  CHECK(bench.queue.begin().ids == R"({"c","d"})");
  bench.queue.finished();
  CHECK(bench.queue.confirmable(Lsn{1200}) == Lsn{1200});
}

TEST_CASE("rows in flight and rows that are due together fill the queue, and a full one does not wait for more") {
  QueueBench bench(3);
  bench.sent(1100, "a");
  bench.sent(1100, "b");
  CHECK_FALSE(bench.queue.full());
  bench.settled(1100);
  bench.sent(1200, "c");
  CHECK(bench.queue.full());
  CHECK(bench.is_due());
  static_cast<void>(bench.queue.begin());
  bench.queue.finished();
  CHECK_FALSE(bench.queue.full());
}

TEST_CASE("rows of a transaction without end can be written before it ends, and nothing of it is confirmable") {
  QueueBench bench(2);
  bench.sent(1200, "a");
  bench.sent(1200, "b");
  bench.queue.all_settled(bench.now);
  CHECK(bench.queue.begin().rows == 2);
  bench.queue.finished();
  bench.settled(1100);
  CHECK(bench.queue.confirmable(Lsn{1100}) == Lsn{1100});
}

TEST_CASE("a relay that begins anew forgets what comes again, what is under way holds nothing that it should not") {
  QueueBench bench;
  bench.sent(1100, "a");
  bench.sent(1200, "b");
  bench.settled(1100);
  static_cast<void>(bench.queue.begin());
  bench.queue.restart(Lsn{1050});
  CHECK(bench.queue.pending() == 1);
  CHECK(bench.queue.confirmable(Lsn{1050}) == Lsn{1050});
  CHECK(bench.queue.confirmable(Lsn{1100}) == Lsn{1050});
  bench.queue.put_back();
  static_cast<void>(bench.queue.begin());
  bench.queue.finished();
  CHECK(bench.queue.confirmable(Lsn{1100}) == Lsn{1100});
  CHECK(bench.queue.pending() == 0);
}

TEST_CASE("the oldest commit that waits for write-back is known") {
  QueueBench bench;
  bench.sent(1100, "a");
  CHECK_FALSE(bench.queue.oldest_commit());
  bench.settled(1100);
  CHECK(bench.queue.oldest_commit() == PgTime{1100});
}

TEST_CASE("ids with quotes and backslashes stay one element, and an empty id is no row") {
  QueueBench bench;
  bench.sent(1100, R"(a"b\c,{d})");
  bench.sent(1100, "");
  bench.settled(1100);
  CHECK(bench.queue.begin().ids == R"({"a\"b\\c,{d}"})");
}

}  // namespace
}  // namespace walrelay::test
