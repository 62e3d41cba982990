// A28: sslmode means to walrelay what it means to libpq, for the replication and for the ordinary connection.

#include <fmt/format.h>
#include <libpq-fe.h>

#include <filesystem>

#include "tests/support/catch.h"
#include "tests/support/certificates.h"
#include "tests/support/json_value.h"
#include "tests/support/postgres_server.h"
#include "tests/support/relay_process.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

// A server with a certificate for "elsewhere.example" that lets nobody in from TCP without TLS.
class TlsServer {
 public:
  TlsServer() : server_(ServerSettings{{"listen_addresses", "127.0.0.1,::1"}}) {
    const auto made = authority_.sign("elsewhere.example");
    const std::string data = server_.data_directory();
    write_file(data + "/server.crt", read_file(made.file));
    write_file(data + "/server.key", read_file(made.key));
    const auto own =
        run_command("chown", {"--reference", data + "/PG_VERSION", data + "/server.crt", data + "/server.key"});
    REQUIRE(own.status == 0);
    std::filesystem::permissions(data + "/server.key", std::filesystem::perms::owner_read);
    write_file(data + "/pg_hba.conf", "local all all trust\nhostssl all all all trust\n");
    server_.exec("ALTER SYSTEM SET ssl = on");
    server_.restart();
    server_.exec(
        "CREATE TABLE outbox (payload text); CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')");
    server_.exec("SELECT pg_create_logical_replication_slot('walrelay', 'pgoutput')");
  }

  [[nodiscard]] PostgresServer& server() { return server_; }
  [[nodiscard]] const std::string& root() const { return authority_.root(); }
  [[nodiscard]] std::string tcp(const std::string& more) const { return server_.tcp_dsn() + " " + more; }

 private:
  CertificateAuthority authority_;
  PostgresServer server_;
};

std::string configuration(const std::string& dsn) {
  return fmt::format(
      "[postgres]\ndsn = \"{}\"\n[[outbox]]\ntable = \"public.outbox\"\ntopic = \"t\"\nvalue = \"{{payload}}\"\n"
      "[sink]\ntype = \"stdout\"\n",
      dsn);
}

CommandResult check(const std::string& dsn) { return walrelay_command({"check", "--json"}, configuration(dsn)); }

// The message of a finding of `check --json`; "ok" if that is its level.
std::string finding(const CommandResult& result, const std::string& name) {
  const auto at = result.output.find("{\"check\":\"" + name + "\"");
  if (at == std::string::npos) return "no finding " + name + " in " + result.output + result.errors;
  const auto object = result.output.substr(at, result.output.find('}', at) + 1 - at);
  return json_value(object, "/level") == "ok" ? "ok" : json_value(object, "/message");
}

// Both connections are let in, and the ordinary one says whether it is encrypted.
void check_accepted(const std::string& dsn, bool tls) {
  CAPTURE(dsn);
  const auto result = check(dsn);
  INFO(result.output << result.errors);
  CHECK(finding(result, "replication.connect") == "ok");
  CHECK(finding(result, "server.connect") == "ok");
  CHECK_THAT(result.output, ContainsSubstring(tls ? "with TLS" : "without TLS"));
}

// Neither connection is made, for this reason, and `run` ends at once.
void check_refused(const std::string& dsn, const std::string& reason) {
  CAPTURE(dsn);
  const auto result = check(dsn);
  CHECK(result.status == 1);
  CHECK_THAT(finding(result, "replication.connect"), ContainsSubstring(reason));
  CHECK_THAT(finding(result, "server.connect"), ContainsSubstring(reason));
  const auto run = walrelay_command({"run", "--set", "http.listen="}, configuration(dsn));
  CHECK(run.status == 3);
  CHECK_THAT(run.errors, ContainsSubstring(reason));
}

TEST_CASE("A28: a wrong name, a wrong root and a connection without TLS are refused, and what fits is let in") {
  TlsServer tls;
  const CertificateAuthority stranger;
  const std::string right = " sslrootcert=" + tls.root();
  const std::string wrong = " sslrootcert=" + stranger.root();
  check_accepted(tls.tcp("sslmode=require"), true);
  check_accepted(tls.tcp("sslmode=verify-ca" + right), true);
  check_accepted(tls.tcp("hostaddr=127.0.0.1 host=elsewhere.example sslmode=verify-full" + right), true);
  check_refused(tls.tcp("sslmode=verify-full" + right), "does not match host name");
  check_refused(tls.tcp("sslmode=verify-ca" + wrong), "certificate verify failed");
  check_refused(tls.tcp("sslmode=require" + wrong),
                "certificate verify failed");  // as libpq: a root that is given counts
  check_refused(tls.tcp("sslmode=verify-full sslrootcert=/nonexistent"), "root certificate file");
  check_refused(tls.tcp("sslmode=disable"), "no encryption");
}

TEST_CASE("A28: an IPv6 literal and a Unix socket are reached, the socket without TLS whatever sslmode says") {
  TlsServer tls;
  check_accepted(tls.server().dsn() + " sslmode=require", false);
  const auto ipv6 = fmt::format("postgresql://postgres@[::1]:{}/postgres?sslmode=require", tls.server().port());
  if (PQping(ipv6.c_str()) == PQPING_OK) check_accepted(ipv6, true);  // a machine may have no IPv6
}

TEST_CASE("A28: /status says whether the connection is encrypted, and nothing of keys") {
  TlsServer tls;
  const std::string dsn =
      tls.tcp("hostaddr=127.0.0.1 host=elsewhere.example sslmode=verify-full sslrootcert=" + tls.root());
  RelayProcess relay(configuration(dsn));
  const bool ready = relay.wait_ready(seconds(30));
  INFO(relay.log());
  REQUIRE(ready);
  const auto status = relay.get("/status").body;
  CHECK(json_value(status, "/server/tls") == "true");
  CHECK_THAT(status, !ContainsSubstring("PRIVATE KEY") && !ContainsSubstring("server.key"));
  CHECK(tls.server().value("SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity USING (pid) WHERE "
                           "application_name = 'walrelay/walrelay' AND NOT s.ssl") == "0");
  CHECK(tls.server().value("SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity USING (pid) WHERE "
                           "application_name = 'walrelay/walrelay' AND s.ssl") == "2");
}

}  // namespace
}  // namespace walrelay::test
