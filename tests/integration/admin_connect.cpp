// How connections are made: passwords, names, TLS, session settings, errors (connector/postgres/conninfo.h,
// pg_connection.h).

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <filesystem>

#include "connector/postgres/conninfo.h"
#include "connector/postgres/pg_connection.h"
#include "connector/postgres/pg_quote.h"
#include "tests/integration/admin_support.h"
#include "tests/support/fake_pooler.h"
#include "tests/support/scoped_environment.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

// "relay@x" with a password of every character that some notation treats specially.
constexpr std::string_view kPassword = "p@:/?#[]%&= '\\£ü";
constexpr std::string_view kPasswordInUri = "p%40%3A%2F%3F%23%5B%5D%25%26%3D%20%27%5C%C2%A3%C3%BC";
constexpr std::string_view kPasswordInString = "'p@:/?#[]%&= \\'\\\\£ü'";

// A server that asks "relay@x" for a password and rejects others from TCP.
class GuardedServer {
 public:
  explicit GuardedServer(ServerSettings settings = {}) : server_(std::move(settings)) {
    server_.exec("SET password_encryption = 'scram-sha-256'; CREATE ROLE \"relay@x\" LOGIN REPLICATION PASSWORD " +
                 quote_literal(kPassword) + "; CREATE ROLE plain LOGIN; CREATE ROLE barred LOGIN REPLICATION");
    set_hba(
        "host all barred 127.0.0.1/32 reject\n"
        "host all \"relay@x\" 127.0.0.1/32 scram-sha-256\n"
        "host all all 127.0.0.1/32 trust\n");
  }

  PostgresServer& server() { return server_; }
  [[nodiscard]] std::string address() const { return fmt::format("127.0.0.1:{}", server_.port()); }

  // The socket stays open to everybody.
  void set_hba(const std::string& lines) {
    write_file(server_.data_directory() + "/pg_hba.conf", "local all all trust\n" + lines);
    server_.exec("SELECT pg_reload_conf()");
    // The postmaster takes a moment; its view tells what it has read only for sessions that began afterwards.
    REQUIRE(wait_until(seconds(10), [&] { return server_.log().find("received SIGHUP") != std::string::npos; }));
  }

 private:
  PostgresServer server_;
};

// "" if a replication and an ordinary connection are both let in, else why not.
std::string connect_both(const std::string& dsn) {
  try {
    PgConnection query(query_conninfo(dsn, "s"));
    PgConnection replication(replication_conninfo(dsn, "s"));
    replication.exec_simple("IDENTIFY_SYSTEM");
    return "";
  } catch (const PgError& error) {
    return error.message();
  }
}

TEST_CASE("a role and a password of special characters connect by URI, string, environment and password file") {
  GuardedServer guarded;
  const auto port = std::to_string(guarded.server().port());
  const auto target = fmt::format("host=127.0.0.1 port={} dbname=postgres user=relay@x", port);
  CHECK(connect_both(fmt::format("postgresql://relay%40x:{}@{}/postgres", kPasswordInUri, guarded.address())) == "");
  CHECK(connect_both(fmt::format("{} password={}", target, kPasswordInString)) == "");
  {
    const ScopedEnvironment password("PGPASSWORD", std::string(kPassword));
    CHECK(connect_both(target) == "");
  }
  const TempDir directory;
  const auto passfile = directory.file("pgpass");
  write_file(passfile, fmt::format("127.0.0.1:{}:*:relay@x:p@\\:/?#[]%&= '\\\\£ü\n", port));
  std::filesystem::permissions(passfile, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  CHECK(connect_both(fmt::format("{} passfile={}", target, passfile)) == "");
}

int tcp_option(const PgConnection& connection, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  REQUIRE(getsockopt(PQsocket(connection.get()), IPPROTO_TCP, option, &value, &length) == 0);
  return value;
}

TEST_CASE("connections notice a dead peer by keepalives and an unanswered send, in the user's times if given") {
  PostgresServer server;
  for (const bool replication : {false, true}) {
    CAPTURE(replication);
    const auto connect = [&](const std::string& more) {
      return PgConnection(replication ? replication_conninfo(server.tcp_dsn() + more, "s")
                                      : query_conninfo(server.tcp_dsn() + more, "s"));
    };
    const PgConnection plain = connect("");
    CHECK(tcp_option(plain, TCP_KEEPIDLE) == 10);
    CHECK(tcp_option(plain, TCP_KEEPINTVL) == 5);
    CHECK(tcp_option(plain, TCP_KEEPCNT) == 3);
    CHECK(tcp_option(plain, TCP_USER_TIMEOUT) == 20'000);
    const PgConnection own = connect(" keepalives_idle=77 tcp_user_timeout=5000");
    CHECK(tcp_option(own, TCP_KEEPIDLE) == 77);
    CHECK(tcp_option(own, TCP_KEEPINTVL) == 5);
    CHECK(tcp_option(own, TCP_USER_TIMEOUT) == 5'000);
  }
}

TEST_CASE("a wrong password is permanent and is not repeated") {
  GuardedServer guarded;
  const auto dsn = fmt::format("postgresql://relay%40x:wr0ng%40secret@{}/postgres", guarded.address());
  try {
    PgConnection connection(replication_conninfo(dsn, "s"));
    FAIL("was let in");
  } catch (const PgError& error) {
    CHECK(error.sqlstate() == "28P01");
    CHECK(error.trouble() == PgTrouble::permanent);
    CHECK(error.message().find("secret") == std::string::npos);
    CHECK_THAT(error.message(), ContainsSubstring("user=relay@x"));
  }
  const auto made = walrelay_command({"init", "--dsn", dsn, "--table", "public.outbox"});
  CHECK(made.status == 3);
  CHECK((made.errors + made.output).find("secret") == std::string::npos);
}

TEST_CASE("who is not let in, by pg_hba.conf, role or database, is told what is missing") {
  GuardedServer guarded;
  const auto of = [&](const std::string& user, const std::string& database) {
    return fmt::format("host=127.0.0.1 port={} dbname={} user={}", guarded.server().port(), database, user);
  };
  CHECK_THAT(connect_both(of("barred", "postgres")), ContainsSubstring("pg_hba.conf"));
  CHECK_THAT(connect_both(of("nobody_here", "postgres")), ContainsSubstring("nobody_here"));
  CHECK_THAT(connect_both(of("postgres", "no_such_database")), ContainsSubstring("check dbname"));
  CHECK_THAT(
      connect_both(of("plain", "postgres")),
      ContainsSubstring(R"(; ALTER ROLE "plain" LOGIN REPLICATION; GRANT CONNECT ON DATABASE "postgres" TO "plain";)"));
  CHECK_THAT(connect_both(of("relay@x", "postgres")), ContainsSubstring("password"));
}

TEST_CASE("sslmode means what it means to libpq, for both kinds of connection") {
  GuardedServer guarded;
  const auto certificate = guarded.server().data_directory() + "/server.crt";
  const auto key = guarded.server().data_directory() + "/server.key";
  const auto openssl =
      run_command("openssl", {"req", "-new", "-x509", "-days", "2", "-nodes", "-subj", "/CN=elsewhere.example",
                              "-addext", "subjectAltName=DNS:elsewhere.example", "-out", certificate, "-keyout", key});
  REQUIRE(openssl.status == 0);
  REQUIRE(run_command("chown", {"--reference", guarded.server().data_directory() + "/PG_VERSION", certificate, key})
              .status == 0);
  std::filesystem::permissions(key, std::filesystem::perms::owner_read);
  guarded.server().exec("ALTER SYSTEM SET ssl = on");
  guarded.set_hba("hostssl all all 127.0.0.1/32 trust\n");
  const TempDir directory;  // readable whoever owns the server's files
  std::filesystem::copy_file(certificate, directory.file("root.crt"));
  const auto dsn = [&](const std::string& more) {
    return fmt::format("host=127.0.0.1 port={} dbname=postgres user=postgres {}", guarded.server().port(), more);
  };
  REQUIRE(wait_until(seconds(10), [&] { return connect_both(dsn("sslmode=require")).empty(); }));
  PgConnection encrypted(query_conninfo(dsn("sslmode=require"), "s"));
  CHECK(encrypted.tls());
  const auto root = " sslrootcert=" + directory.file("root.crt");
  CHECK(connect_both(dsn("sslmode=verify-ca" + root)) == "");
  CHECK_THAT(connect_both(dsn("sslmode=verify-full" + root)), ContainsSubstring("check sslmode"));
  CHECK(connect_both(dsn("hostaddr=127.0.0.1 sslmode=verify-full host=elsewhere.example" + root)) == "");
  CHECK_THAT(connect_both(dsn("sslmode=disable")), ContainsSubstring("pg_hba.conf"));
}

TEST_CASE("the relay's session settings win over the role's, the database's, the user's and the environment's") {
  const ScopedEnvironment zone("PGTZ", "Asia/Tokyo");
  const ScopedEnvironment style("PGDATESTYLE", "German");
  forget_session_environment();
  TestDatabase database;
  database.exec("ALTER DATABASE " + database.name() + " SET bytea_output = 'escape'; ALTER DATABASE " +
                database.name() + " SET statement_timeout = '1s'");
  PgConnection connection(
      replication_conninfo(database.dsn() + " options='-c timezone=Asia/Tokyo -c work_mem=1234kB'", "shop"));
  const auto setting = [&](const std::string& name) {
    return connection.exec_simple("SELECT current_setting('" + name + "') AS value")[0].text("value");
  };
  CHECK(setting("TimeZone") == "UTC");
  CHECK(setting("DateStyle") == "ISO, MDY");
  CHECK(setting("IntervalStyle") == "postgres");
  CHECK(setting("bytea_output") == "hex");
  CHECK(setting("client_encoding") == "UTF8");
  CHECK(setting("extra_float_digits") == "1");
  CHECK(setting("statement_timeout") == "0");
  CHECK(setting("work_mem") == "1234kB");  // the user's own stays
  CHECK(setting("application_name") == "walrelay/shop");
}

TEST_CASE("a pooler in the middle is named, and the way around it") {
  const FakePooler pooler;
  AdminFixture admin;
  REQUIRE(admin.init().status == 0);
  const auto dsn = fmt::format("host=127.0.0.1 port={} dbname=shop user=relay", pooler.port());
  const auto result = walrelay_command({"check", "--dsn", dsn, "--set", "postgres.query_dsn=" + admin.database().dsn(),
                                        "--slot", admin.name(), "--publication", admin.name(), "--table",
                                        "public.outbox", "--preset", "standard", "--sink", "stdout", "--json"});
  INFO(result.output << result.errors);
  CHECK(result.status == 1);
  CHECK(finds(result, "server.connect", "ok"));  // ordinary queries have an address of their own
  CHECK(finds(result, "replication.connect", "error"));
  CHECK_THAT(result.output, ContainsSubstring("pooler"));
  CHECK_THAT(result.output, ContainsSubstring("postgres.query_dsn"));
}

// Reads the stream until a frame carries an Insert ('w', 24 bytes of header, then the message's tag).
bool receives_insert(PgConnection& connection) {
  return wait_until(seconds(10), [&] {
    PQconsumeInput(connection.get());
    char* data = nullptr;
    const int length = PQgetCopyData(connection.get(), &data, 1);
    const PgMemory owned(data);
    return length > 25 && data[0] == 'w' && data[25] == 'I';
  });
}

TEST_CASE("START_REPLICATION finds a publication whatever characters its name has") {
  const auto publication = GENERATE(as<std::string>(), "Outbox_Pub", "Пуб \"x\"", "pub-1", "select", "a,b",
                                    "it's \\ one", "n23456789012345678901234567890123456789012345678901234567890123");
  CAPTURE(publication);
  TestDatabase database;
  database.exec("CREATE TABLE outbox (id int); CREATE PUBLICATION " + quote_identifier(publication) +
                " FOR TABLE outbox");
  database.exec("SELECT pg_create_logical_replication_slot(current_database(), 'pgoutput')");
  database.exec("INSERT INTO outbox VALUES (1)");
  PgConnection connection(replication_conninfo(database.dsn(), database.name()));
  connection.exec_simple(fmt::format("START_REPLICATION SLOT {} LOGICAL 0/0 (proto_version '1', publication_names {})",
                                     quote_identifier(database.name()), quote_publication_name(publication)));
  CHECK(receives_insert(connection));
}

}  // namespace
}  // namespace walrelay::test
