// A server that stops, fast or at once, under a connected relay.

#include <fmt/format.h>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

TEST_CASE("an idle relay does not hold up the server's fast shutdown, and comes back with it", "[versions]") {
  PostgresServer server;
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), shared_kafka());
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  outbox.insert(100);
  REQUIRE(outbox.wait_confirmed());
  CHECK(server.stop(StopMode::fast) < seconds(3));
  CHECK(wait_until(seconds(5), [&] { return relay.get("/readyz").status == 503; }));
  server.start();
  outbox.insert(100);
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
  CHECK(relay.wait_ready());
  CHECK(relay.stop() == ExitStatus{143, 0});
}

TEST_CASE("a relay with unacknowledged events makes way for the server's fast shutdown", "[versions][not13][not18]") {
  PostgresServer server;
  KafkaBroker broker;
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), broker.address());
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  outbox.insert(10);
  REQUIRE(outbox.wait_confirmed());
  broker.pause();
  outbox.insert(1000);
  REQUIRE(wait_until(seconds(10), [&] { return relay.metric("walrelay_in_flight_events").value_or(0) >= 1000; }));
  const auto took = server.stop(StopMode::fast);
  INFO(relay.log());
  CHECK(took < seconds(5));
  server.start();
  broker.resume();
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());  // one life of the relay: what was in flight is not sent again
  CHECK(outbox.wait_confirmed());
}

TEST_CASE("an immediate restart of the server loses nothing") {
  PostgresServer server;
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), shared_kafka());
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  for (int round = 0; round < 3; ++round) {
    outbox.insert(2000);
    server.restart(StopMode::immediate);
  }
  outbox.insert(10);
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.complete());
  CHECK(outbox.wait_confirmed());
  CHECK(relay.process().running());
}

}  // namespace
}  // namespace walrelay::test
