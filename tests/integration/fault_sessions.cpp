// Replication sessions that are cut, and relays that share a slot.

#include <fmt/format.h>

#include <csignal>
#include <set>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

bool is_active(RelayProcess& relay) { return relay.metric("walrelay_active") == 1.0; }

bool is_standby(RelayProcess& relay) {
  return relay.get("/readyz").status == 200 && relay.metric("walrelay_active") == 0.0 &&
         relay.get("/status").body.find(R"("role":"standby","state":"standby")") != std::string::npos;
}

void kill_hard(RelayProcess& relay) {
  relay.process().signal(SIGKILL);
  static_cast<void>(relay.process().wait(seconds(5)));
}

TEST_CASE("a relay whose walsender is terminated again and again under load goes on without loss or repeat",
          "[versions]") {
  constexpr int kTimes = 6;
  TestDatabase database;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), shared_kafka());
  database.exec("CREATE SEQUENCE large");
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  Background load([&] { outbox.insert(100); });
  Background large(
      [other = std::make_shared<PgSession>(database.dsn())] {
        other->exec(
            "INSERT INTO outbox (type, payload) SELECT 'L', jsonb_build_object('k', 'large', 'n', nextval('large')) "
            "FROM "
            "generate_series(1, 5000)");
      },
      milliseconds(200));
  std::set<std::string> pids;
  for (int i = 0; i < kTimes; ++i) {
    std::string pid;
    REQUIRE(wait_until(seconds(20), [&] { return !(pid = outbox.walsender_pid()).empty() && !pids.contains(pid); }));
    pids.insert(pid);
    std::this_thread::sleep_for(milliseconds(300));  // anywhere in the load
    outbox.session().exec("SELECT pg_terminate_backend(" + pid + ")");
  }
  load.stop();
  large.stop();
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.rows > 1000);
  CHECK(comparison.exact());
  CHECK(wait_until(seconds(5), [&] {
    return relay.metric("walrelay_reconnects_total", {{"side", "source"}}).value_or(0) >= kTimes;
  }));
  CHECK(outbox.wait_confirmed());
}

TEST_CASE("further instances on a slot are quiet standbys, and one takes over in seconds") {
  TestDatabase database;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), shared_kafka());
  RelayProcess first(outbox.configuration());
  REQUIRE(first.wait_ready());
  REQUIRE(is_active(first));
  RelayProcess second(outbox.configuration());
  RelayProcess third(outbox.configuration());
  REQUIRE(wait_until(seconds(10), [&] { return is_standby(second) && is_standby(third); }));
  CHECK(second.get("/status").body.find(R"("server":{"host":")") != std::string::npos);
  const auto walsender = outbox.walsender_pid();
  const auto lines = count_of(second.log(), "\n") + count_of(third.log(), "\n");
  Background load([&] { outbox.insert(20); }, milliseconds(20));
  std::this_thread::sleep_for(seconds(5));  // what they do in that time is the claim
  CHECK(outbox.walsender_pid() == walsender);
  CHECK(count_of(second.log(), "\n") + count_of(third.log(), "\n") == lines);
  CHECK(lines < 16);
  CHECK(is_standby(second));
  CHECK(is_standby(third));

  kill_hard(first);
  const auto killed_at = std::chrono::steady_clock::now();
  REQUIRE(wait_until(seconds(8), [&] { return is_active(second) || is_active(third); }));
  CHECK(std::chrono::steady_clock::now() - killed_at < seconds(3));
  RelayProcess& successor = is_active(second) ? second : third;
  RelayProcess& waiting = is_active(second) ? third : second;
  CHECK(wait_until(seconds(5), [&] { return is_standby(waiting); }));
  CHECK(is_active(successor));
  kill_hard(successor);
  CHECK(wait_until(seconds(8), [&] { return is_active(waiting); }));
  load.stop();
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << waiting.log());
  CHECK(comparison.complete());
}

TEST_CASE("a relay that stops lets its standby take over without a repeat") {
  TestDatabase database;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), shared_kafka());
  RelayProcess first(outbox.configuration());
  REQUIRE(first.wait_ready());
  RelayProcess second(outbox.configuration());
  REQUIRE(wait_until(seconds(10), [&] { return is_standby(second); }));
  Background load([&] { outbox.insert(50); });
  std::this_thread::sleep_for(milliseconds(500));  // some load
  CHECK(first.stop() == ExitStatus{143, 0});
  CHECK(wait_until(seconds(8), [&] { return is_active(second); }));
  load.stop();
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << second.log());
  CHECK(comparison.exact());
}

TEST_CASE("a stream that says nothing is given up within twice wal_sender_timeout, an idle one is not") {
  constexpr seconds kTimeout{2};
  PostgresServer server(ServerSettings{{"wal_sender_timeout", "2s"}});
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), shared_kafka());
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  const auto walsender = outbox.walsender_pid();
  CHECK_FALSE(wait_until(5 * kTimeout, [&] { return outbox.walsender_pid() != walsender; }));
  CHECK(count_of(relay.log(), "streaming_started") == 1);

  REQUIRE(kill(std::stoi(walsender), SIGSTOP) == 0);  // the connection stays up
  outbox.insert(100);
  CHECK(wait_until(2 * kTimeout + seconds(1), [&] { return count_of(relay.log(), "nothing came for") > 0; }));
  kill(std::stoi(walsender), SIGCONT);
  CHECK(
      wait_until(seconds(15), [&] { return !outbox.walsender_pid().empty() && outbox.walsender_pid() != walsender; }));
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
  CHECK(relay.wait_ready());
}

}  // namespace
}  // namespace walrelay::test
