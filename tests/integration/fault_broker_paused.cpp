// What is confirmed while the broker answers nothing.

#include <fmt/format.h>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr seconds kBusy{8};  // how long the neighbour writes

TEST_CASE("a position past an unacknowledged commit is never confirmed while the broker is paused") {
  TestDatabase database;
  KafkaBroker broker;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), broker.address());
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  outbox.insert(10);
  REQUIRE(outbox.wait_confirmed());

  broker.pause();
  outbox.insert(1);
  const Lsn first_commit_ends = outbox.end_of_wal();
  outbox.insert(99);
  const SlotWatcher watcher(database.dsn(), outbox.name());
  keep_wal_moving(database.dsn(), kBusy);
  CHECK(watcher.polls() > 20);
  CHECK(watcher.highest() < first_commit_ends);
  CHECK(outbox.end_of_wal().value - first_commit_ends.value > 1'000'000);

  broker.resume();
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
  CHECK(outbox.wait_confirmed());
  CHECK_FALSE(watcher.went_back());
}

TEST_CASE("kill -9 of the relay while the broker is paused loses nothing") {
  TestDatabase database;
  KafkaBroker broker;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), broker.address());
  {
    RelayProcess relay(outbox.configuration());
    REQUIRE(relay.wait_ready());
    outbox.insert(10);
    REQUIRE(outbox.wait_confirmed());
    broker.pause();
    outbox.insert(100);
    keep_wal_moving(database.dsn(), seconds(2));
    relay.process().signal(SIGKILL);
    REQUIRE(relay.process().wait(seconds(5)));
  }
  keep_wal_moving(database.dsn(), seconds(1));
  broker.resume();
  RelayProcess relay(outbox.configuration());
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.complete());
  CHECK(comparison.repeats <= 100);
  CHECK(outbox.wait_confirmed());
}

}  // namespace
}  // namespace walrelay::test
