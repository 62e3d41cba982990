#include "connector/ack_frontier.h"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace walrelay::test {

namespace {

constexpr Lsn kStart{1000};

// A transaction with that many records, ending at `end`.
AckFrontier::Ordinal transaction(AckFrontier& frontier, int records, std::uint64_t end) {
  const auto ordinal = frontier.open({Lsn{end - 8}, 7, 0});
  for (int i = 0; i < records; ++i) frontier.add();
  frontier.close(Lsn{end});
  return ordinal;
}

}  // namespace

TEST_CASE("a new frontier confirms where the slot stands") {
  const AckFrontier frontier(kStart);
  CHECK(frontier.confirmed() == kStart);
  CHECK(frontier.received() == kStart);
  CHECK(frontier.idle());
}

TEST_CASE("acks in any order confirm only the finished prefix") {
  AckFrontier frontier(kStart);
  const auto first = transaction(frontier, 2, 1100);
  const auto second = transaction(frontier, 1, 1200);
  const auto third = transaction(frontier, 1, 1300);
  CHECK(frontier.settled(third));
  CHECK(frontier.confirmed() == kStart);
  CHECK_FALSE(frontier.settled(first));
  CHECK(frontier.confirmed() == kStart);
  CHECK(frontier.settled(first));
  CHECK(frontier.confirmed() == Lsn{1100});
  CHECK(frontier.settled(second));
  CHECK(frontier.confirmed() == Lsn{1300});
  CHECK(frontier.idle());
}

TEST_CASE("an open transaction is not confirmed although all its records so far are settled") {
  AckFrontier frontier(kStart);
  const auto ordinal = frontier.open({Lsn{1090}, 7, 0});
  frontier.add();
  CHECK_FALSE(frontier.settled(ordinal));
  CHECK(frontier.confirmed() == kStart);
  CHECK_FALSE(frontier.idle());
  frontier.close(Lsn{1100});
  CHECK(frontier.confirmed() == Lsn{1100});
}

TEST_CASE("a transaction without records is confirmed at its end, but not before the one ahead of it") {
  AckFrontier frontier(kStart);
  transaction(frontier, 0, 1100);
  CHECK(frontier.confirmed() == Lsn{1100});
  const auto waiting = transaction(frontier, 1, 1200);
  transaction(frontier, 0, 1300);
  transaction(frontier, 0, 1400);
  CHECK(frontier.confirmed() == Lsn{1100});
  CHECK(frontier.received() == Lsn{1400});
  frontier.settled(waiting);
  CHECK(frontier.confirmed() == Lsn{1400});
}

TEST_CASE("a keepalive is confirmed when idle and ignored while anything is open or outstanding") {
  AckFrontier frontier(kStart);
  frontier.keepalive(Lsn{1050});
  CHECK(frontier.confirmed() == Lsn{1050});
  const auto ordinal = frontier.open({Lsn{1090}, 7, 0});
  frontier.keepalive(Lsn{1090});
  CHECK(frontier.confirmed() == Lsn{1050});
  frontier.add();
  frontier.close(Lsn{1100});
  frontier.keepalive(Lsn{1150});
  CHECK(frontier.confirmed() == Lsn{1050});
  frontier.settled(ordinal);
  CHECK(frontier.confirmed() == Lsn{1100});
}

TEST_CASE("a keepalive never moves the frontier back") {
  AckFrontier frontier(kStart);
  frontier.keepalive(Lsn{900});
  CHECK(frontier.confirmed() == kStart);
  frontier.keepalive(Lsn{0});
  CHECK(frontier.confirmed() == kStart);
}

TEST_CASE("records that are delivered but not confirmed are counted, since a crash would repeat them") {
  AckFrontier frontier(kStart);
  const auto first = transaction(frontier, 1, 1100);
  const auto second = transaction(frontier, 2, 1200);
  frontier.settled(second);
  frontier.settled(second);
  CHECK(frontier.unconfirmed_records() == 3);
  frontier.settled(first);
  CHECK(frontier.unconfirmed_records() == 0);
}

TEST_CASE("what a Begin said of the oldest unconfirmed transaction can be looked up") {
  AckFrontier frontier(kStart);
  frontier.open({Lsn{1090}, 42, 123});
  CHECK(frontier.start_of(frontier.first()).xid == 42);
  CHECK(frontier.start_of(frontier.first()).commit_time == 123);
  CHECK(frontier.start_of(frontier.first()).commit_lsn == Lsn{1090});
}

TEST_CASE("more transactions than the ring holds keep their counts") {
  AckFrontier frontier(kStart);
  std::vector<AckFrontier::Ordinal> ordinals;
  for (std::uint64_t i = 0; i < 1000; ++i) ordinals.push_back(transaction(frontier, 1, 1100 + 10 * i));
  std::mt19937 random(5);
  std::shuffle(ordinals.begin() + 1, ordinals.end(), random);
  for (auto it = ordinals.begin() + 1; it != ordinals.end(); ++it) frontier.settled(*it);
  CHECK(frontier.confirmed() == kStart);
  frontier.settled(ordinals.front());
  CHECK(frontier.confirmed() == Lsn{1100 + 10 * 999});
}

TEST_CASE("a thousand empty transactions behind a waiting one take no memory of their own") {
  AckFrontier frontier(kStart);
  const auto waiting = transaction(frontier, 1, 1100);
  for (std::uint64_t i = 1; i <= 1000; ++i) transaction(frontier, 0, 1100 + i);
  const auto next = frontier.open({Lsn{3000}, 1, 0});
  CHECK(next == waiting + 1);
  frontier.settled(waiting);
  CHECK(frontier.confirmed() == Lsn{2100});
}

}  // namespace walrelay::test
