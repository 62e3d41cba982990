// Much in one transaction, and rows that are too much for the server itself.

#include <fmt/format.h>

#include <cstdlib>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr std::size_t kMegabyte = 1024 * 1024;

// $WALRELAY_BIG_ROWS: 500000 for the long run.
std::size_t rows_of_this_run() {
  const char* text = std::getenv("WALRELAY_BIG_ROWS");
  return text == nullptr ? 80'000 : std::strtoull(text, nullptr, 10);
}

TEST_CASE("a transaction of many rows of 1 kB needs no more memory than what may be in flight") {
  const std::size_t rows = rows_of_this_run();
  TestDatabase database;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), shared_kafka());
  RelayProcess relay(outbox.configuration("max_in_flight_bytes = \"64MiB\""));
  REQUIRE(relay.wait_ready());
  database.exec(
      fmt::format("INSERT INTO outbox (type, payload) SELECT 'T', jsonb_build_object('k', 'k' || g % 7, 'n', g, 'x', "
                  "repeat('x', 1000)) FROM generate_series(1, {}) g",
                  rows));
  CHECK(outbox.wait_confirmed(seconds(200)));
  INFO(relay.log());
  CHECK(relay.metric("walrelay_events_total", {{"result", "delivered"}}) == static_cast<double>(rows));
  CHECK(relay.process().peak_resident_bytes() < 150 * kMegabyte);
  CHECK(relay.stop() == ExitStatus{143, 0});
}

// Takes 4 GB of memory and a minute or more.
TEST_CASE("a row that the server cannot send ends the relay with its transaction named", "[.torture]") {
  PostgresServer server(ServerSettings{{"max_wal_size", "8GB"}});
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), shared_kafka());
  outbox.session().exec("ALTER TABLE outbox ADD COLUMN attachment bytea, ALTER COLUMN attachment SET STORAGE EXTERNAL");
  outbox.insert(3);
  outbox.session().exec(
      "INSERT INTO outbox (type, payload, attachment) SELECT 'T', '{\"k\": \"k\", \"n\": 0}', convert_to(repeat('x', "
      "540000000), 'UTF8')");
  RelayProcess relay(outbox.configuration());
  const auto ended = relay.process().wait(seconds(200));
  INFO(relay.log());
  CHECK(ended == ExitStatus{4, 0});
  CHECK_THAT(relay.log(), ContainsSubstring("cannot send a row of transaction"));
  CHECK_THAT(relay.log(), ContainsSubstring("pg_replication_slot_advance"));
}

}  // namespace
}  // namespace walrelay::test
