// What cannot heal, and what can: passwords, rights, names, and a server that is not there yet.

#include <fmt/format.h>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr const char* kPassword = "open-sesame";

// The role "relay" has to log in with a password, the superuser as before.
class GuardedServer {
 public:
  GuardedServer() {
    server_.exec(fmt::format("CREATE ROLE relay LOGIN REPLICATION PASSWORD '{}'", kPassword));
    write_file(server_.data_directory() + "/pg_hba.conf",
               "local all relay scram-sha-256\nlocal all locked_out reject\nlocal all all trust\n");
    server_.exec("SELECT pg_reload_conf()");
    const auto refused = [&] { return PQping(dsn().c_str()) == PQPING_OK && !logs_in_without_password(); };
    if (!wait_until(seconds(10), refused)) throw std::runtime_error("pg_hba.conf is not in force");
  }

  [[nodiscard]] PostgresServer& server() { return server_; }
  [[nodiscard]] std::string dsn(const std::string& database = "postgres", const std::string& user = "relay") const {
    return server_.dsn(database, user) + " password=" + kPassword;
  }

 private:
  bool logs_in_without_password() {
    try {
      static_cast<void>(PgSession(server_.dsn("postgres", "relay")));
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }

  PostgresServer server_;
};

// Waits for the relay to give up. Its log.
std::string log_of_refused_start(RelayProcess& relay) {
  const auto ended = relay.process().wait(seconds(20));
  const std::string log = relay.log();
  INFO(log);
  CHECK(ended == ExitStatus{3, 0});
  CHECK(log.find(kPassword) == std::string::npos);
  CHECK(count_of(log, "error") <= 3);
  return log;
}

TEST_CASE("a password that is changed under a relay ends it with 3 and a clear line") {
  GuardedServer guarded;
  Outbox outbox(guarded.server().dsn(), guarded.dsn(), unique_name(), shared_kafka());
  RelayProcess relay(outbox.configuration());
  const bool ready = relay.wait_ready();
  INFO(relay.log());
  REQUIRE(ready);
  guarded.server().exec("ALTER ROLE relay PASSWORD 'another'");
  guarded.server().exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'relay'");
  CHECK_THAT(log_of_refused_start(relay), ContainsSubstring("password authentication failed for user \"relay\""));
}

TEST_CASE("a password file that the configuration names is read again at each connect") {
  GuardedServer guarded;
  const TempDir directory;
  const auto file = directory.file("password");
  write_file(file, std::string(kPassword) + "\n");
  Outbox outbox(guarded.server().dsn(), guarded.server().dsn("postgres", "relay") + " password=${file:" + file + "}",
                unique_name(), shared_kafka());
  RelayProcess relay(outbox.configuration());
  const bool ready = relay.wait_ready();
  INFO(relay.log());
  REQUIRE(ready);
  const auto walsender = outbox.walsender_pid();
  write_file(file, "another");
  guarded.server().exec("ALTER ROLE relay PASSWORD 'another'");
  guarded.server().exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'relay'");
  CHECK(wait_until(seconds(15), [&] {
    const auto now = outbox.walsender_pid();
    return !now.empty() && now != walsender;
  }));
  CHECK(relay.wait_ready());
  outbox.insert(10);
  CHECK(outbox.compare().exact());
  CHECK(relay.log().find("another") == std::string::npos);
}

TEST_CASE("a role without REPLICATION, a missing database and a pg_hba.conf that rejects end a start with 3") {
  GuardedServer guarded;
  const auto name = unique_name();
  const Outbox outbox(guarded.server().dsn(), guarded.dsn(), name, shared_kafka());
  {
    guarded.server().exec("ALTER ROLE relay NOREPLICATION");
    RelayProcess relay(outbox.configuration());
    CHECK_THAT(log_of_refused_start(relay), ContainsSubstring("REPLICATION"));
    guarded.server().exec("ALTER ROLE relay REPLICATION");
  }
  const auto with_dsn = [&](const std::string& dsn) {
    auto text = outbox.configuration();
    return text.replace(text.find(guarded.dsn()), guarded.dsn().size(), dsn);
  };
  {
    RelayProcess relay(with_dsn(guarded.dsn("nosuch")));
    CHECK_THAT(log_of_refused_start(relay), ContainsSubstring("database \"nosuch\" does not exist"));
  }
  {
    guarded.server().exec("CREATE ROLE locked_out LOGIN REPLICATION");
    RelayProcess relay(with_dsn(guarded.dsn("postgres", "locked_out")));
    CHECK_THAT(log_of_refused_start(relay), ContainsSubstring("pg_hba.conf"));
  }
}

TEST_CASE("a relay waits for a server that is away at its start, check and init do not") {
  PostgresServer server;
  Outbox outbox(server.tcp_dsn(), server.tcp_dsn(), unique_name(), shared_kafka());
  outbox.insert(10);
  server.stop();
  RelayProcess relay(outbox.configuration());
  CHECK(wait_until(seconds(10), [&] { return count_of(relay.log(), "server_away") == 1; }));
  for (const char* command : {"check", "init"}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto result = walrelay_command({command}, outbox.configuration());
    INFO(command << ": " << result.output << result.errors);
    CHECK(result.status > 0);
    CHECK(std::chrono::steady_clock::now() - begin < seconds(10));
    CHECK_THAT(result.output + result.errors, ContainsSubstring(std::to_string(server.port())));
  }
  const auto unready = relay.get("/readyz");
  CHECK(unready.status == 503);
  CHECK_THAT(unready.body, ContainsSubstring("127.0.0.1"));
  CHECK(count_of(relay.log(), "server_away") == 1);
  CHECK_FALSE(relay.metric("walrelay_lag_bytes"));
  server.start();
  CHECK(relay.wait_ready());
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
}

}  // namespace
}  // namespace walrelay::test
