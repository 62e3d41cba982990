// How a relay ends when it is asked to.

#include <fmt/format.h>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

TEST_CASE("SIGTERM and SIGINT under load drain and confirm: the next start repeats nothing") {
  const auto [signal, code] = GENERATE(std::pair{SIGTERM, 143}, std::pair{SIGINT, 130});
  TestDatabase database;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), shared_kafka());
  {
    RelayProcess relay(outbox.configuration());
    REQUIRE(relay.wait_ready());
    Background load([&] { outbox.insert(50); });
    REQUIRE(wait_until(seconds(20), [&] {
      return relay.metric("walrelay_events_total", {{"result", "delivered"}}).value_or(0) > 500;
    }));
    relay.process().signal(signal);
    CHECK(relay.process().wait(seconds(20)) == ExitStatus{code, 0});
    INFO(relay.log());
    CHECK(count_of(relay.log(), "drain_timeout") == 0);
  }
  RelayProcess relay(outbox.configuration());
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
}

TEST_CASE("a drain that the broker does not let end is over at drain_timeout, a second signal ends it at once") {
  TestDatabase database;
  KafkaBroker broker;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), broker.address());
  const auto in_flight = [](RelayProcess& relay) {
    return wait_until(seconds(10), [&] { return relay.metric("walrelay_in_flight_events").value_or(0) >= 100; });
  };
  {
    RelayProcess relay(outbox.configuration());
    REQUIRE(relay.wait_ready());
    outbox.insert(10);
    REQUIRE(outbox.wait_confirmed());
    broker.pause();
    outbox.insert(100);
    REQUIRE(in_flight(relay));
    relay.process().signal(SIGTERM);
    CHECK(wait_until(seconds(5), [&] { return count_of(relay.log(), "draining") == 1; }));
    CHECK_FALSE(relay.process().wait(seconds(1)));
    relay.process().signal(SIGTERM);
    CHECK(relay.process().wait(seconds(3)) == ExitStatus{143, 0});
    INFO(relay.log());
    CHECK(count_of(relay.log(), "second signal") == 1);
  }
  broker.resume();
  {
    RelayProcess relay(outbox.configuration("drain_timeout = \"2s\""));
    REQUIRE(relay.wait_ready());
    REQUIRE(outbox.wait_confirmed());
    broker.pause();
    outbox.insert(100);
    REQUIRE(in_flight(relay));
    CHECK(relay.stop(seconds(8)) == ExitStatus{143, 0});
    INFO(relay.log());
    CHECK(count_of(relay.log(), "drain_timeout") == 1);
  }
  broker.resume();
  RelayProcess relay(outbox.configuration());
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.complete());
}

TEST_CASE("run --drain ends with 0 once all that was committed before is confirmed") {
  TestDatabase database;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), shared_kafka());
  outbox.insert(500);
  outbox.insert_at_once(1000);
  const Lsn committed = outbox.end_of_wal();
  {
    RelayProcess relay(outbox.configuration(), {"--drain"});
    CHECK(relay.process().wait(seconds(30)) == ExitStatus{0, 0});
    INFO(relay.log());
    CHECK(outbox.confirmed() >= committed);
  }
  const auto comparison = outbox.compare(seconds(5));
  INFO(comparison.text());
  CHECK(comparison.exact());

  keep_wal_moving(database.dsn(), milliseconds(200));  // nothing of it is ours
  RelayProcess relay(outbox.configuration(), {"--drain"});
  const auto ended = relay.process().wait(seconds(30));
  INFO(relay.log());
  CHECK(ended == ExitStatus{0, 0});
}

}  // namespace
}  // namespace walrelay::test
