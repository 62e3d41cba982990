// Lag: nothing to deliver in a busy cluster, much to deliver, nobody to ask.

#include <fmt/format.h>

#include <fstream>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr double kTwoSegments = 2.0 * 16 * 1024 * 1024;

// What is left is that of the server's own view, and absent where it has no limit.
void check_what_is_left(PostgresServer& server, RelayProcess& relay) {
  CHECK_FALSE(relay.metric("walrelay_slot_safe_bytes"));
  server.set("max_slot_wal_keep_size", "96MB");
  CHECK(wait_until(seconds(10), [&] {
    const auto left = server.value("SELECT safe_wal_size FROM pg_replication_slots");  // "" before the reload
    return !left.empty() && relay.metric("walrelay_slot_safe_bytes") == std::stod(left);
  }));
  CHECK_THAT(relay.get("/status").body, ContainsSubstring("\"slot_safe_bytes\":"));
}

TEST_CASE("an idle outbox in a busy cluster holds no WAL back, with no right but LOGIN and REPLICATION", "[versions]") {
  PostgresServer server;
  server.exec("CREATE ROLE relay LOGIN REPLICATION");
  server.exec("CREATE DATABASE neighbour");
  PgSession neighbour(server.dsn("neighbour"));
  neighbour.exec("CREATE TABLE junk (filler text)");
  Outbox outbox(server.dsn(), server.dsn("postgres", "relay"), unique_name(), shared_kafka());
  CHECK(server.value("SELECT has_table_privilege('relay', 'outbox', 'SELECT, INSERT, UPDATE, DELETE')") == "f");
  RelayProcess relay(outbox.configuration());
  const bool ready = relay.wait_ready();
  INFO(relay.log());
  REQUIRE(ready);
  const std::string retained =
      "SELECT pg_current_wal_lsn() - restart_lsn FROM pg_replication_slots WHERE slot_name = '" + outbox.name() + "'";
  for (int round = 0; round < 5; ++round) {
    const Lsn before = outbox.end_of_wal();
    for (PgSession* session : {&server.session(), &neighbour}) {
      session->exec("INSERT INTO junk SELECT repeat('x', 500) FROM generate_series(1, 20000)");
      session->exec("SELECT pg_switch_wal()");
      session->exec("CHECKPOINT");
    }
    CHECK(outbox.end_of_wal().value - before.value > 2 * 10'000'000);
    CHECK(outbox.wait_confirmed(seconds(3)));
  }
  CHECK(wait_until(seconds(3), [&] { return relay.metric("walrelay_lag_bytes") == 0.0; }));
  CHECK(relay.metric("walrelay_lag_seconds") == 0.0);
  CHECK(wait_until(seconds(20), [&] { return std::stod(server.value(retained)) < kTwoSegments; }));
  CHECK(wait_until(seconds(5),
                   [&] { return relay.metric("walrelay_slot_retained_bytes").value_or(1e12) < kTwoSegments; }));
  check_what_is_left(server, relay);
}

TEST_CASE("lag is 0 when idle, grows while the broker is away, and is absent while the server is") {
  PostgresServer server;
  KafkaBroker broker;
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), broker.address());
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  const auto bytes = [&] { return relay.metric("walrelay_lag_bytes"); };
  const auto age = [&] { return relay.metric("walrelay_lag_seconds"); };
  const auto idle = [&] { return bytes() == 0.0 && age() == 0.0; };
  CHECK(wait_until(seconds(5), idle));
  {
    Background load([&] { outbox.insert(200); });
    CHECK(wait_until(seconds(10), [&] { return bytes().value_or(0) > 0 && age().value_or(0) > 0; }));
    CHECK(age().value_or(0) < 5);
  }
  CHECK(wait_until(seconds(10), idle));

  broker.pause();
  outbox.insert(2000);
  CHECK(wait_until(seconds(10), [&] { return bytes().value_or(0) > 100'000 && age().value_or(0) > 3; }));
  CHECK(relay.metric("walrelay_in_flight_events") == 2000.0);

  server.stop(StopMode::immediate);
  CHECK(wait_until(seconds(5), [&] { return !bytes() && !age(); }));
  CHECK(relay.metric("walrelay_build_info") == 1.0);  // it is the samples that are absent, not the page
  CHECK(relay.metric("walrelay_replication_connected") == 0.0);
  broker.resume();
  CHECK(wait_until(seconds(10), [&] { return relay.metric("walrelay_in_flight_events") == 0.0; }));
  CHECK_FALSE(age());
  server.start();
  const bool idle_again = wait_until(seconds(15), idle);
  INFO(relay.log());
  CHECK(idle_again);
}

// How often the thread gave up its core to wait.
long waits_of(pid_t thread) {
  std::ifstream status(fmt::format("/proc/{0}/task/{0}/status", thread));
  for (std::string word; status >> word;) {
    if (word == "voluntary_ctxt_switches:") return status >> word ? std::stol(word) : 0;
  }
  return 0;
}

// Three messages and an ack come for each. A busy machine makes fewer wake-ups of them; one that takes long for a row
// makes more, since an ack waits for the next row for some milliseconds only.
TEST_CASE("a steady stream of single rows wakes the relay about once for each") {
  constexpr int kRows = 1500;
  PostgresServer server;
  Outbox outbox(server.dsn(), server.tcp_dsn(), unique_name(), shared_kafka());
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  const auto begin = std::chrono::steady_clock::now();
  const long before = waits_of(relay.process().pid());
  server.exec(
      fmt::format("DO $$ BEGIN FOR g IN 1..{} LOOP INSERT INTO outbox (type, payload) VALUES ('T', '{{}}'); "
                  "COMMIT; PERFORM pg_sleep(0.001); END LOOP; END $$",
                  kRows));
  REQUIRE(outbox.wait_confirmed(seconds(20)));
  const long waits = waits_of(relay.process().pid()) - before;
  if (std::chrono::steady_clock::now() - begin > kRows * milliseconds(4)) {
    WARN("this machine is too slow for a steady stream");
    return;
  }
  INFO(waits << " waits for " << kRows << " rows");
  CHECK(waits < kRows * 3 / 2);
}

}  // namespace
}  // namespace walrelay::test
