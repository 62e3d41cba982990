// Names, passwords and session settings between `walrelay run` and PostgreSQL.

#include <fmt/format.h>

#include <filesystem>

#include "tests/support/catch.h"
#include "tests/support/json_value.h"
#include "tests/support/outbox_case.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

// An outbox whose events go to standard output, one JSON object a line.
class PrintedOutbox : public OutboxCase {
 public:
  explicit PrintedOutbox(const std::string& columns = "payload text") {
    exec("CREATE TABLE outbox (" + columns + ")");
    add_outbox("table = \"public.outbox\"\ntopic = \"t\"\nvalue = \"{payload}\"");
    set_sink("[sink]\ntype = \"stdout\"");
  }
};

void publish_by_hand(OutboxCase& outbox, const std::string& publication) {
  outbox.exec("SELECT set_config('test.name', $$" + publication + "$$, false)");
  outbox.exec(
      "DO $do$ BEGIN EXECUTE format('CREATE PUBLICATION %I FOR TABLE outbox WITH (publish = ''insert'')', "
      "current_setting('test.name')); END $do$");
}

void check_arrival(PrintedOutbox& outbox) {
  outbox.init();
  outbox.exec("INSERT INTO outbox VALUES ('arrives')");
  const auto result = outbox.run("run", {"--drain"});
  CAPTURE(result.errors);
  CHECK(result.status == 0);
  CHECK(json_value(result.output, "/value") == "arrives");
}

TEST_CASE("a publication of any name is made and found") {
  const auto name = GENERATE(as<std::string>{}, "Outbox_Pub", "Пуб \"x\"", "pub-1", "select", "a,b", "it's \\ one",
                             std::string(63, 'p'));
  CAPTURE(name);
  PrintedOutbox outbox;
  outbox.set_publication(name);
  check_arrival(outbox);
}

TEST_CASE("a publication of any name that was made by hand is found") {
  const auto name = GENERATE(as<std::string>{}, "Outbox_Pub", "a, \"b\"");
  CAPTURE(name);
  PrintedOutbox outbox;
  outbox.set_publication(name);
  publish_by_hand(outbox, name);
  check_arrival(outbox);
}

TEST_CASE("a publication made after the slot ends the relay with both ways out, and nothing is skipped", "[versions]") {
  PrintedOutbox outbox;
  outbox.exec("SELECT pg_create_logical_replication_slot(current_database(), 'pgoutput')");
  outbox.exec("INSERT INTO outbox VALUES ('too early')");
  outbox.exec(fmt::format("CREATE PUBLICATION \"{}\" FOR TABLE outbox WITH (publish = 'insert')", outbox.name()));
  const auto before = outbox.confirmed();
  const auto result = outbox.run("run", {"--drain"});
  CHECK(result.status == 3);
  CHECK(result.output == "");
  CHECK(outbox.confirmed() == before);
  CHECK_THAT(result.errors, ContainsSubstring(outbox.name()));
  CHECK_THAT(result.errors, ContainsSubstring("did not exist yet"));
  CHECK_THAT(result.errors, ContainsSubstring("walrelay recover"));
  CHECK_THAT(result.errors, ContainsSubstring("pg_replication_slot_advance"));

  // The second way out is what it is said to be.
  REQUIRE(wait_until(seconds(10), [&] {  // 18 only warns: its walsender has yet to notice that nobody listens
    return outbox.database().value("SELECT active FROM pg_replication_slots WHERE slot_name = current_database()") ==
           "f";
  }));
  outbox.exec("SELECT pg_replication_slot_advance(current_database(), pg_current_wal_lsn())");
  outbox.exec("INSERT INTO outbox VALUES ('in time')");
  CHECK(json_value(outbox.run("run", {"--drain"}).output, "/value") == "in time");
}

TEST_CASE("settings of database and role do not change what is written") {
  PrintedOutbox outbox("n int, at timestamptz, day date, span interval, bytes bytea, number float8, payload text");
  outbox.exec(fmt::format(
      "ALTER DATABASE \"{0}\" SET DateStyle = 'SQL, DMY'; ALTER DATABASE \"{0}\" SET IntervalStyle = 'sql_standard';"
      "ALTER DATABASE \"{0}\" SET bytea_output = 'escape'; ALTER DATABASE \"{0}\" SET TimeZone = 'Asia/Kathmandu';"
      "ALTER DATABASE \"{0}\" SET extra_float_digits = -10; ALTER DATABASE \"{0}\" SET client_encoding = 'LATIN1';"
      "ALTER DATABASE \"{0}\" SET search_path = pg_catalog; ALTER DATABASE \"{0}\" SET standard_conforming_strings = "
      "off",
      outbox.name()));
  outbox.exec(
      fmt::format("CREATE ROLE \"{0}\" SUPERUSER LOGIN; ALTER ROLE \"{0}\" SET DateStyle = 'German'", outbox.name()));
  outbox.init();
  outbox.exec(
      R"(INSERT INTO outbox VALUES (1, '2024-02-29 12:00:00.5+00', '2024-02-29', '1 day 2 hours', '\x00ff5c', 0.1::float8 + 0.2, 'é €'))");
  outbox.set_dsn(outbox.database().dsn() + " user=" + outbox.name());
  const auto result = outbox.run("run", {"--drain", "--set", "outbox.0.headers.all={at}|{day}|{span}|{bytes}|{number}",
                                         "--set", "outbox.0.headers.raw={bytes}", "--set", "outbox.0.timestamp={at}"});
  outbox.exec(fmt::format("DROP ROLE \"{}\"", outbox.name()));
  CAPTURE(result.errors);
  REQUIRE(result.status == 0);
  CHECK(json_value(result.output, "/headers/all") ==
        "2024-02-29 12:00:00.5+00|2024-02-29|1 day 02:00:00|\\x00ff5c|0.30000000000000004");
  CHECK(json_value(result.output, "/headers/raw/base64") == "AP9c");
  CHECK(json_value(result.output, "/value") == "é €");
  CHECK(json_value(result.output, "/timestamp") == "1709208000500");
}

TEST_CASE("run takes a password of special characters from URI, string, environment and file, and shows it nowhere") {
  PostgresServer server;
  server.exec(
      "SET password_encryption = 'scram-sha-256'; CREATE ROLE \"relay@x\" SUPERUSER LOGIN REPLICATION PASSWORD "
      "E'p@:/?#[]%&= \\'\\\\£ü'");
  write_file(server.data_directory() + "/pg_hba.conf",
             "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n");
  server.restart();
  server.exec("CREATE TABLE outbox (payload text)");
  const TempDir directory;
  write_file(directory.file("pgpass"), "*:*:*:relay@x:p@\\:/?#[]%&= '\\\\£ü\n");
  std::filesystem::permissions(directory.file("pgpass"), std::filesystem::perms::owner_read);
  write_file(directory.file("secret"), "p@:/?#[]%&= \\'\\\\£ü\n");
  const auto target = fmt::format("host=127.0.0.1 port={} dbname=postgres user=relay@x", server.port());
  const auto run = [&](const std::string& command, const std::string& dsn, const ProcessOptions& options = {}) {
    return walrelay_command(
        {command, "--dsn", dsn, "--table", "public.outbox", "--set", "outbox.0.topic=t", "--set",
         "outbox.0.value={payload}", "--sink", "stdout", "--set", "http.listen=", "--log-level", "debug"},
        "", options);
  };
  REQUIRE(run("init", server.dsn()).status == 0);
  const ProcessOptions environment{{{"PGPASSWORD", "p@:/?#[]%&= '\\£ü"}}};
  const std::vector<std::pair<std::string, ProcessOptions>> ways{
      {fmt::format("postgresql://relay%40x:p%40%3A%2F%3F%23%5B%5D%25%26%3D%20%27%5C%C2%A3%C3%BC@127.0.0.1:{}/postgres",
                   server.port()),
       {}},
      {target + " password='p@:/?#[]%&= \\'\\\\£ü'", {}},
      {target, environment},
      {target + " passfile=" + directory.file("pgpass"), {}},
      {target + " password='${file:" + directory.file("secret") + "}'", {}}};
  for (const auto& [dsn, options] : ways) {
    CAPTURE(dsn);
    server.exec("INSERT INTO outbox VALUES ('x')");
    const auto checked = run("status", dsn, options);
    CHECK(checked.status == 0);
    const auto result = walrelay_command(
        {"run", "--drain", "--dsn", dsn, "--table", "public.outbox", "--set", "outbox.0.topic=t", "--set",
         "outbox.0.value={payload}", "--sink", "stdout", "--set", "http.listen=", "--log-level", "debug"},
        "", options);
    CAPTURE(result.errors);
    CHECK(result.status == 0);
    CHECK(json_value(result.output, "/value") == "x");
    CHECK(result.errors.find("#[]") == std::string::npos);
  }
}

}  // namespace
}  // namespace walrelay::test
