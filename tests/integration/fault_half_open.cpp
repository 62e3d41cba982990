// Connections that go dead without being closed.

#include <fmt/format.h>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/shared_servers.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr seconds kTimeout{2};

ServerSettings impatient() { return {{"wal_sender_timeout", "2s"}}; }

std::string dsn_through(const TcpProxy& proxy) {
  return fmt::format("host=127.0.0.1 port={} dbname=postgres user=postgres", proxy.port());
}

bool unready_with(RelayProcess& relay, const std::string& text) {
  const auto reply = relay.get("/readyz");
  return reply.status == 503 && reply.body.find(text) != std::string::npos;
}

TEST_CASE("a stream through a dead network path is given up by both sides, and goes on over another connection") {
  PostgresServer server(impatient());
  TcpProxy path(server.port());
  Outbox outbox(server.dsn(), dsn_through(path), unique_name(), shared_kafka());
  RelayProcess relay(outbox.configuration());  // both of its connections take that path
  REQUIRE(relay.wait_ready());
  outbox.insert(100);
  REQUIRE(outbox.wait_confirmed());
  const auto walsender = outbox.walsender_pid();

  path.freeze();
  outbox.insert(100);
  CHECK(wait_until(2 * kTimeout, [&] { return unready_with(relay, "nothing came for"); }));
  CHECK(wait_until(2 * kTimeout, [&] { return outbox.walsender_pid() != walsender; }));  // the server's side
  CHECK(relay.wait_ready());
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
  CHECK(outbox.wait_confirmed());
  CHECK(count_of(relay.log(), "streaming_started") == 2);
}

TEST_CASE("a relay is not ready while its own dead connection has the slot, and is no standby") {
  PostgresServer server(impatient());
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), shared_kafka());
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  const auto walsender = std::stoi(outbox.walsender_pid());
  REQUIRE(kill(walsender, SIGSTOP) == 0);
  CHECK(wait_until(2 * kTimeout + seconds(1), [&] { return unready_with(relay, "nothing came for"); }));
  CHECK_FALSE(wait_until(seconds(2), [&] { return relay.get("/readyz").status == 200; }));
  CHECK_THAT(relay.get("/status").body, ContainsSubstring("\"state\":\"connecting\""));
  kill(walsender, SIGCONT);
  CHECK(relay.wait_ready());
}

TEST_CASE(
    "an ordinary connection that is dead is made anew, and without one the stream goes on and readiness says so") {
  PostgresServer server(impatient());
  TcpProxy path(server.port());
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), shared_kafka());
  RelayProcess relay(outbox.configuration(), {"--set", "postgres.query_dsn=" + dsn_through(path)});
  REQUIRE(relay.wait_ready());
  const auto walsender = outbox.walsender_pid();
  const auto connections = path.accepted();
  path.freeze();
  CHECK(wait_until(2 * kTimeout + seconds(1), [&] { return path.accepted() > connections; }));
  outbox.insert(100);
  const Lsn end = outbox.end_of_wal();
  CHECK(wait_until(seconds(5), [&] {
    return relay.metric("walrelay_server_wal_lsn").value_or(0) >= static_cast<double>(end.value);
  }));

  path.freeze_for_good();
  CHECK(wait_until(seconds(10), [&] { return unready_with(relay, fmt::format("port={}", path.port())); }));
  CHECK_FALSE(relay.metric("walrelay_lag_bytes"));
  outbox.insert(100);
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
  CHECK(outbox.walsender_pid() == walsender);
}

}  // namespace
}  // namespace walrelay::test
