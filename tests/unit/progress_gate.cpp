#include "connector/progress_gate.h"

#include "tests/support/catch.h"
#include "tests/support/progress_records.h"

namespace walrelay::test {
namespace {

using namespace std::chrono_literals;

constexpr CommitMark kCommit{Lsn{1100}, 7, 70};
const Instant kNow{1h};

// Its record is stored and was written just now.
ProgressGate fresh_gate() {
  ProgressGate gate(record_at(500), true);
  gate.reached(Lsn{1000}, std::nullopt);
  gate.hurry();
  static_cast<void>(gate.begin(kNow));
  gate.written();
  return gate;
}

}  // namespace

TEST_CASE("a gate without records lets everything through") {
  ProgressGate gate;
  gate.reached(Lsn{1100}, kCommit);
  CHECK_FALSE(gate.due());
  CHECK_FALSE(gate.behind());
  CHECK(gate.confirmable(Lsn{1100}) == Lsn{1100});
}

TEST_CASE("a position is confirmable once its record is acknowledged, not before") {
  ProgressGate gate = fresh_gate();
  CHECK(gate.confirmable(Lsn{1000}) == Lsn{1000});
  gate.reached(Lsn{1100}, kCommit);
  CHECK(gate.behind());
  CHECK(gate.confirmable(Lsn{1100}) == Lsn{1000});
  CHECK(gate.begin(kNow).commit == kCommit);
  CHECK(gate.confirmable(Lsn{1100}) == Lsn{1000});
  gate.written();
  CHECK(gate.confirmable(Lsn{1100}) == Lsn{1100});
  CHECK_FALSE(gate.behind());
}

TEST_CASE("records follow events ten times a second, an idle stream once, and a request at once") {
  ProgressGate gate = fresh_gate();
  CHECK_FALSE(gate.due());
  gate.reached(Lsn{1050}, std::nullopt);
  CHECK(gate.due() == kNow + 1s);
  gate.reached(Lsn{1100}, kCommit);
  CHECK(gate.due() == kNow + 100ms);
  gate.hurry();
  CHECK(gate.due() == Instant{});
  static_cast<void>(gate.begin(kNow + 1ms));
  CHECK_FALSE(gate.due());
  gate.written();
  gate.reached(Lsn{1200}, kCommit);
  CHECK(gate.due() == kNow + 1ms + 1s);
}

TEST_CASE("what moves on while a record is under way gets the next one") {
  ProgressGate gate = fresh_gate();
  gate.reached(Lsn{1100}, kCommit);
  static_cast<void>(gate.begin(kNow));
  const CommitMark later{Lsn{1200}, 8, 80};
  gate.reached(Lsn{1200}, later);
  gate.written();
  CHECK(gate.confirmable(Lsn{1200}) == Lsn{1100});
  CHECK(gate.unrecorded_commit() == later);
  CHECK(gate.begin(kNow + 1s).commit == later);
}

TEST_CASE("a record that finds no room is tried again soon") {
  ProgressGate gate = fresh_gate();
  gate.reached(Lsn{1100}, kCommit);
  static_cast<void>(gate.begin(kNow));
  gate.postponed(kNow);
  CHECK(gate.due() == kNow + ProgressGate::kRetry);
  CHECK(gate.confirmable(Lsn{1100}) == Lsn{1000});
}

}  // namespace walrelay::test
