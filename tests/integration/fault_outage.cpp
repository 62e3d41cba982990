// The broker is away for longer than anything waits. These cases take their time, and hardly any of the machine's.

#include <fmt/format.h>
#include <unistd.h>

#include <sstream>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr std::size_t kMegabyte = 1024 * 1024;

double cpu_seconds(pid_t pid) {
  const std::string stat = read_file(fmt::format("/proc/{}/stat", pid));
  std::istringstream fields(stat.substr(stat.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

TEST_CASE("a broker that is paused for 45 s with 200,000 rows waiting costs neither the session nor much memory") {
  constexpr seconds kPaused{45};
  PostgresServer server(ServerSettings{{"wal_sender_timeout", "5s"}});
  KafkaBroker broker;
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), broker.address());
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  outbox.insert(10);
  REQUIRE(outbox.wait_confirmed());
  const auto walsender = outbox.walsender_pid();
  broker.pause();
  outbox.insert_at_once(199'000);
  outbox.insert(1'000);
  const auto paused_at = std::chrono::steady_clock::now();
  CHECK(wait_until(seconds(30), [&] { return relay.get("/readyz").status == 503; }));
  CHECK_THAT(relay.get("/readyz").body, ContainsSubstring("acknowledged"));
  const bool same_session =
      !wait_until(std::chrono::duration_cast<milliseconds>(paused_at + kPaused - std::chrono::steady_clock::now()),
                  [&] { return outbox.walsender_pid() != walsender; });
  CHECK(same_session);
  CHECK(relay.metric("walrelay_lag_seconds").value_or(0) > 30);
  CHECK(relay.metric("walrelay_lag_bytes").value_or(0) > 100'000);
  CHECK(relay.metric("walrelay_in_flight_events").value_or(0) <= 100'000);
  broker.resume();
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
  CHECK(outbox.wait_confirmed());
  CHECK(outbox.walsender_pid() == walsender);
  CHECK(relay.wait_ready());
  CHECK(relay.process().peak_resident_bytes() < 150 * kMegabyte);
}

// One disconnect at stall_disconnect, none after it, and one new session when the broker is back.
void outlast_stall(const std::string& delivery, seconds stall_disconnect, seconds paused) {
  PostgresServer server;
  KafkaBroker broker;
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), broker.address());
  RelayProcess relay(outbox.configuration(delivery));
  REQUIRE(relay.wait_ready());
  outbox.insert(10);
  REQUIRE(outbox.wait_confirmed());
  broker.pause();
  const auto paused_at = std::chrono::steady_clock::now();
  outbox.insert(1000);
  REQUIRE(wait_until(stall_disconnect + seconds(10), [&] { return outbox.walsender_pid().empty(); }));
  CHECK(std::chrono::steady_clock::now() - paused_at >= stall_disconnect);
  CHECK_FALSE(
      wait_until(std::chrono::duration_cast<milliseconds>(paused_at + paused - std::chrono::steady_clock::now()),
                 [&] { return !outbox.walsender_pid().empty(); }));
  CHECK_THAT(relay.get("/status").body, ContainsSubstring("\"waiting_for_sink\""));
  CHECK(relay.get("/readyz").status == 503);
  outbox.insert(1000);
  broker.resume();
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
  CHECK(count_of(relay.log(), "sink_stalled") == 1);
  CHECK(count_of(relay.log(), "streaming_started") == 2);
  CHECK(relay.wait_ready());
  CHECK(outbox.wait_confirmed());
}

TEST_CASE("a relay whose sink stands still disconnects once, at stall_disconnect, and comes back with the sink") {
  outlast_stall("stall_disconnect = \"5s\"", seconds(5), seconds(20));
}

TEST_CASE("a broker that is paused for two minutes costs one disconnect, after a minute", "[.torture]") {
  outlast_stall("", seconds(60), seconds(120));
}

TEST_CASE("brokers that are down for a minute cost no row, hardly any CPU, and no restart") {
  constexpr seconds kDown{60};
  PostgresServer server;
  KafkaBroker broker;
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), broker.address());
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  outbox.insert(10);
  REQUIRE(outbox.wait_confirmed());
  broker.stop();
  const double cpu_before = cpu_seconds(relay.process().pid());
  const auto down_at = std::chrono::steady_clock::now();
  outbox.insert(1000);
  CHECK(wait_until(seconds(20), [&] { return relay.get("/readyz").status == 503; }));
  CHECK_THAT(relay.get("/readyz").body, ContainsSubstring(broker.address()));
  std::this_thread::sleep_until(down_at + kDown);
  const double down_for = std::chrono::duration<double>(std::chrono::steady_clock::now() - down_at).count();
  CHECK((cpu_seconds(relay.process().pid()) - cpu_before) / down_for < 0.05);
  broker.start();
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
  CHECK(relay.wait_ready());
  CHECK(outbox.wait_confirmed());
}

}  // namespace
}  // namespace walrelay::test
