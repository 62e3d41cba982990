// The broker is killed while much is in flight.

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

TEST_CASE("A26: kill -9 of the broker with 50,000 events in flight repeats nothing in one life of the relay") {
  constexpr std::size_t kRows = 50'000;
  TestDatabase database;
  KafkaBroker broker;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), broker.address());
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  outbox.insert(10);
  REQUIRE(outbox.wait_confirmed());
  broker.pause();
  outbox.insert_at_once(kRows);
  REQUIRE(wait_until(seconds(30), [&] { return relay.metric("walrelay_in_flight_events").value_or(0) >= kRows; }));
  broker.resume();
  // Some are stored, and their acknowledgements on their way.
  REQUIRE(wait_until(seconds(30), [&] { return relay.metric("walrelay_in_flight_events").value_or(kRows) < kRows; }));
  broker.kill();
  broker.start();
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
  CHECK(outbox.wait_confirmed());
  CHECK(relay.stop() == ExitStatus{143, 0});
}

}  // namespace
}  // namespace walrelay::test
