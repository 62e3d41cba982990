#include "connector/progress_verdict.h"

#include "tests/support/catch.h"
#include "tests/support/progress_records.h"

namespace walrelay::test {
namespace {

constexpr CommitMark kRecordedCommit{Lsn{900}, 7, 70};

ServerHistory server() { return {.system_identifier = "77", .timeline = 1, .flushed = Lsn{5000}, .database = "shop"}; }

ServerHistory promoted(std::uint64_t parted) {
  ServerHistory history = server();
  history.timeline = 2;
  history.earlier_timelines = {{1, Lsn{parted}}};
  return history;
}

ProgressVerdict judge(const ProgressRecord& record, std::uint64_t slot_position, const ServerHistory& history) {
  const std::vector<std::string> stored = {to_json(record)};
  return judge_progress(stored, "walrelay", Lsn{slot_position}, history);
}

}  // namespace

TEST_CASE("a slot at its record goes on, with nothing covered") {
  const auto verdict = judge(record_at(1000, kRecordedCommit), 1000, server());
  CHECK(verdict.gap.empty());
  CHECK_FALSE(verdict.covered);
  CHECK(verdict.gate.confirmable(Lsn{2000}) == Lsn{1000});
}

TEST_CASE("a slot before its record goes on, and what was delivered in between is covered") {
  const auto verdict = judge(record_at(1000, kRecordedCommit), 500, server());
  CHECK(verdict.gap.empty());
  CHECK(verdict.covered == kRecordedCommit);
  CHECK_FALSE(judge(record_at(1000, kRecordedCommit), 900, server()).covered);
  CHECK_FALSE(judge(record_at(1000), 500, server()).covered);
}

TEST_CASE("a slot without a record goes on and writes one at once") {
  const auto verdict = judge_progress({}, "walrelay", Lsn{500}, server());
  CHECK(verdict.gap.empty());
  CHECK_FALSE(verdict.covered);
  auto gate = verdict.gate;
  gate.reached(Lsn{500}, std::nullopt);
  CHECK(gate.due() == Instant{});
  CHECK(gate.begin({}) == record_at(500));
  CHECK(gate.confirmable(Lsn{600}) == Lsn{500});
}

TEST_CASE("a slot beyond its record is a gap, named with both positions and the way out") {
  const auto verdict = judge(record_at(1000, kRecordedCommit), 1001, server());
  CHECK_THAT(verdict.gap, ContainsSubstring("slot \"walrelay\" stands at 0/3E9") &&
                              ContainsSubstring("delivered up to 0/3E8, the last commit at 0/384") &&
                              ContainsSubstring("walrelay recover"));
}

TEST_CASE("another cluster or database is a gap") {
  auto other = server();
  other.system_identifier = "78";
  CHECK_THAT(judge(record_at(1000), 1000, other).gap, ContainsSubstring("another cluster"));
  other = server();
  other.database = "copy";
  CHECK_THAT(judge(record_at(1000), 1000, other).gap, ContainsSubstring("database \"shop\""));
}

TEST_CASE("a server whose log ends before what was delivered has gone back in time") {
  auto restored = server();
  restored.flushed = Lsn{999};
  CHECK_THAT(judge(record_at(1000), 500, restored).gap, ContainsSubstring("gone back in time"));
  restored.flushed = Lsn{1000};
  CHECK(judge(record_at(1000), 500, restored).gap.empty());
}

TEST_CASE("a promoted server goes on if all that was delivered happened before the timelines parted") {
  const auto verdict = judge(record_at(1000, kRecordedCommit), 500, promoted(900));
  CHECK(verdict.gap.empty());
  CHECK(verdict.covered == kRecordedCommit);
  CHECK(verdict.gate.confirmable(Lsn{2000}) == Lsn{900});  // beyond, the old positions mean nothing
  auto gate = verdict.gate;
  gate.reached(Lsn{500}, std::nullopt);
  const auto record = gate.begin({});
  CHECK(record.timeline == 2);
  CHECK(record.position == Lsn{900});
  CHECK(record.commit == kRecordedCommit);
}

TEST_CASE("a promoted server that lacks what was delivered is a gap") {
  CHECK_THAT(judge(record_at(1000, kRecordedCommit), 500, promoted(899)).gap,
             ContainsSubstring("left timeline 1 at 0/383") && ContainsSubstring("does not have them"));
  auto older = record_at(1000);
  older.timeline = 3;
  CHECK_THAT(judge(older, 500, promoted(900)).gap, ContainsSubstring("does not come from timeline 3"));
}

TEST_CASE("a record that cannot be read is a gap") {
  const std::vector<std::string> stored = {R"({"version":9})"};
  CHECK_THAT(judge_progress(stored, "walrelay", Lsn{500}, server()).gap, ContainsSubstring("cannot be read"));
}

TEST_CASE("a timeline history file is read line by line") {
  const auto timelines =
      parse_timeline_history("1\t0/3000000\tno recovery target specified\n\n# remark\n2\t1/A0\tbefore 2026-01-01\n");
  REQUIRE(timelines.size() == 2);
  CHECK(timelines[0].timeline == 1);
  CHECK(timelines[0].end == Lsn{0x3000000});
  CHECK(timelines[1].timeline == 2);
  CHECK(timelines[1].end == Lsn{0x1'0000'00A0});
}

}  // namespace walrelay::test
