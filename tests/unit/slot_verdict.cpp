#include "connector/postgres/slot_verdict.h"

#include "tests/support/catch.h"

namespace walrelay::test {

using Verdict = SlotVerdict::Kind;

namespace {

ServerFacts healthy() {
  ServerFacts facts;
  facts.version = 150'018;
  facts.wal_level = "logical";
  facts.database = "shop";
  facts.position = Lsn{0x500};
  facts.publication_exists = true;
  facts.publishes_inserts = true;
  facts.slot = SlotFacts{.logical = true,
                         .temporary = false,
                         .synced = false,
                         .active = false,
                         .active_pid = 0,
                         .plugin = "pgoutput",
                         .database = "shop",
                         .wal_status = "reserved",
                         .confirmed = Lsn{0x400},
                         .retained_bytes = 256,
                         .safe_bytes = std::nullopt};
  return facts;
}

SlotVerdict judge(const ServerFacts& facts, bool messages = false) {
  return judge_slot(facts, "walrelay", "outbox_pub", messages);
}

}  // namespace

TEST_CASE("a healthy free slot with its publication is usable") { CHECK(judge(healthy()).kind == Verdict::usable); }

TEST_CASE("a slot that is in use makes a standby, and the verdict names the PID") {
  auto facts = healthy();
  facts.slot->active = true;
  facts.slot->active_pid = 4711;
  CHECK(judge(facts).kind == Verdict::taken);
  CHECK_THAT(judge(facts).reason, ContainsSubstring("4711"));
}

TEST_CASE("a missing slot is a possible gap, never made silently") {
  auto facts = healthy();
  facts.slot.reset();
  CHECK(judge(facts).kind == Verdict::lost);
  CHECK_THAT(judge(facts).reason, ContainsSubstring("walrelay init"));
}

TEST_CASE("a lost slot is named with the position that it was confirmed up to") {
  auto facts = healthy();
  facts.slot->wal_status = "lost";
  facts.slot->active = true;  // some versions keep showing the last walsender for a moment
  CHECK(judge(facts).kind == Verdict::lost);
  CHECK_THAT(judge(facts).reason, ContainsSubstring("0/400"));
}

TEST_CASE("what somebody has to change is unusable: plugin, kind, database, wal_level, publication") {
  auto facts = healthy();
  SECTION("plugin") { facts.slot->plugin = "test_decoding"; }
  SECTION("physical") { facts.slot->logical = false; }
  SECTION("database") { facts.slot->database = "other"; }
  SECTION("wal_level") { facts.wal_level = "replica"; }
  SECTION("no publication") { facts.publication_exists = false; }
  SECTION("no inserts") { facts.publishes_inserts = false; }
  CHECK(judge(facts).kind == Verdict::unusable);
  CHECK_FALSE(judge(facts).reason.empty());
}

TEST_CASE("on a standby a missing slot and a copy of one are waited for, on the promoted server not") {
  auto facts = healthy();
  facts.in_recovery = true;
  CHECK(judge(facts).kind == Verdict::usable);  // 16+: a slot of the standby's own
  facts.slot->synced = true;
  CHECK(judge(facts).kind == Verdict::not_yet);
  CHECK_THAT(judge(facts).reason, ContainsSubstring("target_session_attrs"));
  facts.in_recovery = false;
  CHECK(judge(facts).kind == Verdict::usable);
  facts.slot.reset();
  CHECK(judge(facts).kind == Verdict::lost);
  facts.in_recovery = true;
  CHECK(judge(facts).kind == Verdict::not_yet);
}

TEST_CASE("messages are refused from a server that would leave them out") {
  auto facts = healthy();
  CHECK(judge(facts, true).kind == Verdict::usable);
  facts.version = 130'016;
  CHECK(judge(facts, true).kind == Verdict::unusable);
  CHECK(judge(facts, false).kind == Verdict::usable);
}

TEST_CASE("an error about a publication in the past is told from other missing objects") {
  CHECK(publication_missing_in_history({"42704", "publication \"p\" does not exist"}));
  CHECK(publication_missing_in_history({"55000", "skipped loading publication \"p\""}));
  CHECK_FALSE(publication_missing_in_history({"42704", "replication slot \"s\" does not exist"}));
}

TEST_CASE("a row that the server cannot send is named by its transaction, with the way past it") {
  const SourceError error{"XX000", "db: invalid memory alloc request size 1076000003"};
  const auto text = row_cannot_be_sent(error, "s", Lsn{0x300}, TransactionStart{Lsn{0x4FF}, 77, 0}, 3);
  CHECK_THAT(text, ContainsSubstring("transaction 77 (commit at 0/4FF)") && ContainsSubstring("first 3 events") &&
                       ContainsSubstring("pg_replication_slot_advance('s', '0/500')"));
  CHECK_THAT(row_cannot_be_sent(error, "s", Lsn{0x300}, std::nullopt, 0), ContainsSubstring("ends after 0/300"));
}

}  // namespace walrelay::test
