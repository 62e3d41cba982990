#include "connector/observe/history.h"

#include <string>

#include "connector/observe/recent_messages.h"
#include "tests/support/catch.h"
#include "tests/support/set_clock.h"

namespace walrelay::test {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

struct HistoryFixture {
  SetClock clock;
  RelayMetrics metrics{2};
  StatusBoard board{clock.wall()};
  History history{metrics, board, clock};

  // As the loop does it: several turns a second.
  void turns(Duration duration, std::int64_t growth_a_second = 0) {
    constexpr Duration kTurn = std::chrono::milliseconds(500);
    for (Duration passed{}; passed < duration; passed += kTurn) {
      history.turn(clock.now());
      clock.advance(kTurn);
      if (growth_a_second == 0) continue;
      metrics.slot_retained_bytes.set(metrics.slot_retained_bytes.value().value() + growth_a_second / 2);
      metrics.slot_safe_bytes.set(metrics.slot_safe_bytes.value().value() - growth_a_second / 2);
    }
  }
};

}  // namespace

TEST_CASE_METHOD(HistoryFixture,
                 "history has a sample every five seconds, and no more than the last quarter of an hour") {
  turns(std::chrono::seconds(11));
  CHECK(history.samples().size() == 3);
  turns(std::chrono::minutes(60));
  const auto samples = history.samples();
  REQUIRE(samples.size() == History::kSamplesMax);
  CHECK(samples.back().time - samples.front().time == std::int64_t{15} * 60 * 1'000'000);
  CHECK(clock.wall() - samples.back().time <= 5'000'000);
}

TEST_CASE_METHOD(HistoryFixture, "a sample has what was known at its moment") {
  history.turn(clock.now());
  board.unblock(ReadySubject::server);
  board.set_state(RelayState::streaming, clock.wall());
  metrics.server_wal_lsn.set(Lsn{1100});
  metrics.confirmed_lsn.set(Lsn{1000});
  metrics.oldest_unconfirmed_commit.set(clock.wall() + 3'000'000);
  metrics.events(0, EventResult::delivered).add(4);
  metrics.events(1, EventResult::dead_letter).add(2);
  metrics.events(1, EventResult::ignored).add(7);
  clock.advance(History::kInterval);
  history.turn(clock.now());
  const auto samples = history.samples();
  REQUIRE(samples.size() == 2);
  CHECK_FALSE(samples[0].ready);
  CHECK_FALSE(samples[0].lag_bytes);
  CHECK(samples[1].ready);
  CHECK(samples[1].state == RelayState::streaming);
  CHECK(samples[1].lag_bytes == 100U);
  CHECK(samples[1].lag_seconds == 2.0);
  CHECK_FALSE(samples[1].retained_bytes);
  CHECK(samples[1].events == 6);
}

TEST_CASE_METHOD(HistoryFixture, "the time until the slot is lost follows from the growth of the last minutes") {
  CHECK_FALSE(history.seconds_until_lost());
  metrics.slot_retained_bytes.set(100 * kMiB);
  turns(std::chrono::minutes(10));
  CHECK_FALSE(history.seconds_until_lost());  // no limit
  metrics.slot_safe_bytes.set(1000 * kMiB);
  CHECK_FALSE(history.seconds_until_lost());  // no growth
  turns(std::chrono::minutes(6), kMiB);
  CHECK(history.seconds_until_lost().value() == Approx(1000 - 360).epsilon(0.03));
  metrics.slot_safe_bytes.set(0);
  CHECK(history.seconds_until_lost() == 0.0);
  metrics.slot_safe_bytes.clear();
  CHECK_FALSE(history.seconds_until_lost());
}

TEST_CASE_METHOD(HistoryFixture, "a burst of a few seconds does not tell when the slot would be lost") {
  metrics.slot_retained_bytes.set(0);
  metrics.slot_safe_bytes.set(1000 * kMiB);
  turns(std::chrono::seconds(20), 10 * kMiB);
  CHECK_FALSE(history.seconds_until_lost());
}

// A relay that keeps up: what it has confirmed goes when the server writes down what runs, each 15 to 30 s.
TEST_CASE_METHOD(HistoryFixture, "a slot whose WAL goes again and again is never said to be lost some time") {
  metrics.slot_retained_bytes.set(kMiB);
  metrics.slot_safe_bytes.set(1000 * kMiB);
  for (int i = 0; i < 80; ++i) {
    const auto before = metrics.slot_retained_bytes.value().value();
    for (int turn = 0; turn < 10 + i % 20; ++turn) {
      turns(std::chrono::seconds(1), kMiB / 4);
      CHECK_FALSE(history.seconds_until_lost());
    }
    metrics.slot_retained_bytes.set(before + (i % 5 - 2) * kMiB / 8);
    metrics.slot_safe_bytes.set(1000 * kMiB);
  }
}

TEST_CASE_METHOD(HistoryFixture, "a slot that lets less WAL go than comes is lost in the end, and that is told") {
  metrics.slot_retained_bytes.set(kMiB);
  metrics.slot_safe_bytes.set(1000 * kMiB);
  for (int i = 0; i < 30; ++i) {
    turns(std::chrono::seconds(20), kMiB);
    metrics.slot_retained_bytes.set(metrics.slot_retained_bytes.value().value() - 10 * kMiB);
    metrics.slot_safe_bytes.set(metrics.slot_safe_bytes.value().value() + 10 * kMiB);
  }
  CHECK(history.seconds_until_lost().value() == Approx((1000 - 30 * 10) * 2).epsilon(0.1));
}

TEST_CASE_METHOD(HistoryFixture, "growth that would take months to lose the slot is not told") {
  metrics.slot_retained_bytes.set(0);
  metrics.slot_safe_bytes.set(100'000 * kMiB);
  turns(std::chrono::minutes(6), 1000);
  CHECK_FALSE(history.seconds_until_lost());
}

TEST_CASE("a message that comes again is counted, and the oldest one goes when there are too many") {
  RecentMessages recent;
  recent.add(1, LogLevel::warning, "sink_away", "broker down");
  recent.add(2, LogLevel::error, "halted", "too large");
  recent.add(3, LogLevel::warning, "sink_away", "broker down");
  auto messages = recent.messages();
  REQUIRE(messages.size() == 2);
  CHECK(messages[0].event == "sink_away");
  CHECK(messages[0].times == 2);
  CHECK(messages[0].time == 3);
  for (std::size_t i = 0; i < RecentMessages::kMax; ++i) {
    recent.add(4, LogLevel::warning, "event " + std::to_string(i), "why");
  }
  messages = recent.messages();
  CHECK(messages.size() == RecentMessages::kMax);
  CHECK(messages.back().event == "event 0");
}

TEST_CASE("an event that comes with ever new texts leaves room for others") {
  RecentMessages recent;
  recent.add(1, LogLevel::error, "halted", "too large");
  for (int i = 0; i < 100; ++i) recent.add(2, LogLevel::warning, "sink", "after " + std::to_string(i) + " ms");
  const auto messages = recent.messages();
  REQUIRE(messages.size() == 5);
  CHECK(messages[0].text == "after 99 ms");
  CHECK(messages[3].text == "after 96 ms");
  CHECK(messages[4].event == "halted");
}

}  // namespace walrelay::test
