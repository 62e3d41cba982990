// The network to the server, and to the broker, is cut, while events flow.

#include <fmt/format.h>

#include <optional>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/shared_servers.h"
#include "tests/support/test_network.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

// This thread's namespace with the relay, one with PostgreSQL, and one with Kafka. Writers reach PostgreSQL by its Unix
// socket, which no cut concerns.
class SpreadOut {
 public:
  SpreadOut() {
    server_host_.run([&] {
      server_.emplace(ServerSettings{{"listen_addresses", "*"}, {"wal_sender_timeout", "2s"}});
      write_file(server_->data_directory() + "/pg_hba.conf", "local all all trust\nhost all all all trust\n");
      server_->exec("SELECT pg_reload_conf()");
    });
    broker_host_.run([&] { broker_.emplace(ServerSettings{}, std::vector<std::string>{}, broker_host_.address()); });
    outbox_.emplace(
        server_->dsn(),
        fmt::format("host={} port={} dbname=postgres user=postgres", server_host_.address(), server_->port()),
        unique_name(), broker_->address());
  }

  [[nodiscard]] Outbox& outbox() { return *outbox_; }
  [[nodiscard]] const FarHost& server_host() const { return server_host_; }
  [[nodiscard]] const FarHost& broker_host() const { return broker_host_; }

 private:
  NetworkNamespace here_;
  FarHost server_host_{1};
  FarHost broker_host_{2};
  std::optional<PostgresServer> server_;
  std::optional<KafkaBroker> broker_;
  std::optional<Outbox> outbox_;
};

// Why the hosts cannot be made; "" if they can.
std::string obstacle() {
  try {
    const NetworkNamespace here;
    const FarHost there(1);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

// The relay notices, and once the cable is back it goes on.
void cut(RelayProcess& relay, const FarHost& host, void (FarHost::*unplug)() const) {
  (host.*unplug)();
  CHECK(wait_until(seconds(20), [&] { return relay.get("/readyz").status == 503; }));
  host.plug_in();
  REQUIRE(relay.wait_ready(seconds(60)));
  const auto delivered = relay.metric("walrelay_events_total").value_or(0);
  CHECK(wait_until(seconds(30), [&] { return relay.metric("walrelay_events_total").value_or(0) > delivered + 100; }));
}

}  // namespace

TEST_CASE("a network that is cut between relay, server and broker costs no row and repeats none", "[.torture]") {
  if (const auto why = obstacle(); !why.empty()) {
    WARN("left out: " << why);
    return;
  }
  SpreadOut network;
  auto& outbox = network.outbox();
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  Background load([&] { outbox.insert(10); }, milliseconds(10));
  cut(relay, network.server_host(), &FarHost::unplug_there);
  cut(relay, network.server_host(), &FarHost::unplug_here);
  cut(relay, network.broker_host(), &FarHost::unplug_there);
  cut(relay, network.broker_host(), &FarHost::unplug_here);
  load.stop();
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
  CHECK(outbox.wait_confirmed());
  CHECK(relay.stop() == ExitStatus{143, 0});
}

}  // namespace walrelay::test
