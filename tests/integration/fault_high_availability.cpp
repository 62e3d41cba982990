// A server or a relay that is gone for good, or for a while, and what takes its place.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "connector/progress_record.h"
#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

bool is_active(RelayProcess& relay) { return relay.metric("walrelay_active") == 1.0; }

bool is_standby(RelayProcess& relay) {
  return relay.get("/status").body.find(R"("role":"standby","state":"standby")") != std::string::npos;
}

// A vanished host looks like this to the server: the connection stays, nothing comes.
TEST_CASE("a relay that is stopped loses the slot at wal_sender_timeout, and does no harm when it goes on") {
  PostgresServer server(ServerSettings{{"wal_sender_timeout", "2s"}});
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), shared_kafka());
  RelayProcess first(outbox.configuration());
  REQUIRE(first.wait_ready());
  RelayProcess second(outbox.configuration());
  RelayProcess third(outbox.configuration());
  REQUIRE(wait_until(seconds(10), [&] { return is_standby(second) && is_standby(third); }));
  Background load([&] { outbox.insert(50); });
  REQUIRE(wait_until(seconds(10), [&] { return first.metric("walrelay_events_total") > 200.0; }));

  first.process().signal(SIGSTOP);
  const auto stopped_at = std::chrono::steady_clock::now();
  REQUIRE(wait_until(seconds(6), [&] { return is_active(second) || is_active(third); }));
  CHECK(std::chrono::steady_clock::now() - stopped_at < seconds(5));
  // The server counts from the last status that it has read; the relay is to find the session expired by its own count.
  REQUIRE(wait_until(seconds(5), [&] { return std::chrono::steady_clock::now() - stopped_at > seconds(2); }));
  first.process().signal(SIGCONT);
  CHECK(wait_until(seconds(10), [&] { return is_standby(first); }));
  CHECK_THAT(first.log(), ContainsSubstring("wal_sender_timeout (2000 ms)"));  // and it has read nothing after that
  CHECK_FALSE(wait_until(seconds(1), [&] { return is_active(first); }));
  // What it sent after it had been replaced leads nobody astray.
  RelayProcess& active = is_active(second) ? second : third;
  RelayProcess& waiting = is_active(second) ? third : second;
  active.process().signal(SIGKILL);
  CHECK(wait_until(seconds(10), [&] { return is_active(first) || is_active(waiting); }));
  CHECK(first.process().running());
  CHECK(waiting.process().running());
  load.stop();
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << first.log() << "\n" << second.log() << "\n" << third.log());
  CHECK(comparison.complete());
  CHECK(outbox.wait_confirmed());
}

// The primary of a test and its standby, as one address list.
class Pair {
 public:
  Pair(const ServerSettings& standby, int version) : primary_({}, version), standby_(primary_, with_slot(standby)) {
    primary_.exec("SELECT pg_create_physical_replication_slot('standby')");
    if (!wait_until(seconds(20), [&] { return primary_.value("SELECT count(*) FROM pg_stat_replication") == "1"; }))
      throw std::runtime_error("the standby does not connect:\n" + standby_.log());
  }

  [[nodiscard]] PostgresServer& primary() { return primary_; }
  [[nodiscard]] PostgresServer& standby() { return standby_; }
  [[nodiscard]] std::string dsn() const {
    return fmt::format("host={},{} port={},{} dbname=postgres user=postgres target_session_attrs=read-write",
                       primary_.socket_directory(), standby_.socket_directory(), primary_.port(), standby_.port());
  }

 private:
  static ServerSettings with_slot(ServerSettings settings) {
    settings.insert(settings.end(), {{"primary_slot_name", "standby"}, {"wal_retrieve_retry_interval", "200ms"}});
    return settings;
  }

  PostgresServer primary_;
  PostgresServer standby_;
};

constexpr int kVersionWithFailoverSlots = 17;

// The copy is ready once the primary's slot has moved past the standby's horizon. What copies is started here, since it
// takes ever longer naps while there is no slot.
bool wait_copied(Pair& servers, Outbox& outbox) {
  servers.standby().set("sync_replication_slots", "on");
  return wait_until(seconds(40), [&] {
    outbox.insert(1);
    servers.primary().exec("SELECT pg_log_standby_snapshot()");
    return servers.standby().value("SELECT synced AND NOT temporary FROM pg_replication_slots WHERE slot_name = '" +
                                   outbox.name() + "'") == "t";
  });
}

Lsn recorded_position(const Outbox& outbox, const std::string& progress_topic) {
  const auto records = TopicReader(outbox.broker(), progress_topic).read_to_end();
  return parse_progress(records.back().value.value()).value().position;
}

// How many rows are before that position for certain: of the last one that begins there only the begin is known.
std::size_t rows_before(Outbox& outbox, Lsn position) {
  const auto begun = outbox.session().value(
      fmt::format("SELECT count(*) FROM outbox WHERE (payload->>'lsn')::pg_lsn <= '{}'", position.to_string()));
  return std::max<std::size_t>(std::stoul(begun), 1) - 1;
}

TEST_CASE("after a failover with a failover slot nothing is lost, and nothing repeated that the record covers") {
  constexpr std::size_t kMaxInFlight = 200;
  Pair servers({{"hot_standby_feedback", "on"}}, kVersionWithFailoverSlots);
  Outbox outbox(servers.dsn(), servers.dsn(), unique_name(), shared_kafka());
  const auto progress_topic = outbox.name() + ".progress";
  const auto configuration =
      outbox.configuration(fmt::format("progress_topic = \"{}\"\nmax_in_flight = {}", progress_topic, kMaxInFlight));
  const auto check = [&] { return walrelay_command({"check"}, configuration); };
  CHECK_THAT(check().output, ContainsSubstring("walrelay init --failover"));
  const auto made = walrelay_command({"init", "--failover"}, configuration);
  INFO(made.errors);
  REQUIRE(made.status == 0);
  CHECK_THAT(check().output, ContainsSubstring("synchronized_standby_slots is empty"));
  servers.primary().set("synchronized_standby_slots", "standby");
  CHECK_THAT(check().output, ContainsSubstring("is a failover slot") && !ContainsSubstring("is empty"));

  RelayProcess relay(configuration);
  INFO(relay.log());
  REQUIRE(relay.wait_ready());
  REQUIRE(wait_copied(servers, outbox));
  {
    Background load([&] { outbox.insert(20); });
    REQUIRE(wait_until(seconds(10), [&] { return relay.metric("walrelay_events_total") > 500.0; }));
    servers.primary().crash();
  }
  CHECK(wait_until(seconds(5), [&] { return relay.get("/readyz").status == 503; }));
  const Lsn position = recorded_position(outbox, progress_topic);
  servers.standby().promote();
  outbox.go_on_numbering();
  const auto recorded = rows_before(outbox, position);
  CHECK(recorded > 500);
  CHECK(relay.wait_ready(seconds(20)));
  outbox.insert(100);
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "; recorded " << recorded << "\n" << relay.log());
  // What the topic has of the time before, the new server has as well: the old one sent nothing that was not there yet.
  CHECK(comparison.complete());
  CHECK(comparison.first_repeat > recorded);
  CHECK(comparison.repeats <= kMaxInFlight);
  CHECK(outbox.wait_confirmed());
  CHECK_THAT(check().output, ContainsSubstring("confirmed up to"));

  // The replay position of a promoted server stands still; the lag is not measured by it.
  const Lsn end = outbox.end_of_wal();
  CHECK(wait_until(seconds(10), [&] {
    return relay.metric("walrelay_server_wal_lsn").value_or(0) >= static_cast<double>(end.value) &&
           relay.metric("walrelay_lag_bytes") == 0.0;
  }));
}

TEST_CASE("a relay on a standby without the slot waits, and ends with 5 when that is promoted") {
  Pair servers({}, 0);
  Outbox outbox(servers.dsn(), servers.standby().dsn(), unique_name(), shared_kafka());
  RelayProcess relay(outbox.configuration());
  CHECK(wait_until(seconds(10), [&] { return count_of(relay.log(), "server_is_standby") == 1; }));
  CHECK_THAT(relay.get("/readyz").body, ContainsSubstring("target_session_attrs=read-write"));
  servers.primary().crash();
  servers.standby().promote();
  CHECK(relay.process().wait(seconds(20)) == ExitStatus{5, 0});
  INFO(relay.log());
  CHECK(count_of(relay.log(), "does not exist") == 1);
}

TEST_CASE("init --failover is refused by a server without failover slots, and changes nothing", "[versions]") {
  TestDatabase database;
  const bool has_them = std::stoi(database.value("SHOW server_version_num")) >= kVersionWithFailoverSlots * 10'000;
  const auto made = walrelay_command({"init", "--failover", "--dsn", database.dsn(), "--slot", database.name(),
                                      "--publication", database.name(), "--table", "public.outbox"});
  INFO(made.errors);
  CHECK(made.status == (has_them ? 0 : 1));
  CHECK(database.value("SELECT count(*) FROM pg_publication") == (has_them ? "1" : "0"));
  if (!has_them) CHECK_THAT(made.errors, ContainsSubstring("failover slots need PostgreSQL 17"));
}

}  // namespace
}  // namespace walrelay::test
