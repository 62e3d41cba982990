// `walrelay check` and `status`: one thing is broken at a time.

#include <chrono>

#include "tests/integration/admin_support.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {
namespace {

struct Broken {
  const char* sql;    // breaks it, after init; $DB is the name of database, slot and publication
  const char* check;  // the finding
  const char* level;
  const char* message;  // part of it
  int since = 13;       // the first version that has such a thing
};

std::string named(std::string sql, const std::string& name) {
  for (auto at = sql.find("$DB"); at != std::string::npos; at = sql.find("$DB")) sql.replace(at, 3, name);
  return sql;
}

TEST_CASE("each broken precondition is found by its name, with a remedy", "[versions][not17]") {
  const auto broken = GENERATE(
      Broken{"DROP PUBLICATION $DB", "publication", "error", "there is no publication"},
      Broken{"ALTER PUBLICATION $DB SET (publish = 'update')", "publication", "error", "does not publish inserts"},
      Broken{"ALTER PUBLICATION $DB SET (publish = 'insert, update')", "publication.superfluous", "warning",
             "also publishes update"},
      Broken{"ALTER PUBLICATION $DB DROP TABLE outbox", "publication.table", "error", "does not publish table"},
      Broken{"ALTER TABLE outbox RENAME TO old; CREATE TABLE outbox (LIKE old) PARTITION BY RANGE (occurred_at); "
             "CREATE TABLE outbox_1 PARTITION OF outbox DEFAULT; ALTER PUBLICATION $DB SET TABLE outbox_1",
             "publication.partitions", "warning", "that is detached"},
      Broken{"ALTER PUBLICATION $DB SET TABLE outbox WHERE (type <> 'x')", "publication.table", "error", "row filter",
             15},
      Broken{"ALTER PUBLICATION $DB SET TABLE outbox (id, type)", "publication.columns", "error", "payload", 15},
      Broken{"SELECT pg_drop_replication_slot('$DB')", "slot", "error", "there is no replication slot"},
      Broken{"SELECT pg_drop_replication_slot('$DB'); SELECT pg_create_physical_replication_slot('$DB')", "slot",
             "error", "is a physical one"},
      Broken{
          "SELECT pg_drop_replication_slot('$DB'); SELECT pg_create_logical_replication_slot('$DB', 'test_decoding')",
          "slot", "error", "test_decoding"},
      Broken{"ALTER TABLE outbox DROP COLUMN payload", "mapping", "error", "payload"},
      Broken{"ALTER PUBLICATION $DB DROP TABLE outbox; ALTER TABLE outbox SET UNLOGGED", "table", "error", "unlogged"},
      Broken{"ALTER TABLE outbox RENAME TO \"Outbox\"", "table", "error", "there is no table"});
  CAPTURE(broken.sql);
  AdminFixture admin;
  if (std::stoi(admin.database().value("SHOW server_version_num")) < broken.since * 10'000) return;
  REQUIRE(admin.init().status == 0);
  const auto before = admin.check();
  INFO(before.output << before.errors);
  REQUIRE(before.status == 0);

  admin.database().exec(named(broken.sql, admin.name()));
  const auto after = admin.check();
  INFO(after.output << after.errors);
  CHECK(finds(after, broken.check, broken.level));
  CHECK_THAT(after.output, ContainsSubstring(broken.message));
  CHECK(after.status == (std::string(broken.level) == "error" ? 1 : 0));
}

TEST_CASE("a publication that is younger than the slot's position is found before the start") {
  AdminFixture admin;
  admin.database().exec("CREATE TABLE outbox (id uuid, occurred_at timestamptz, type text, payload jsonb)");
  admin.database().exec("SELECT pg_create_logical_replication_slot(current_database(), 'pgoutput')");
  admin.database().exec("INSERT INTO outbox VALUES (gen_random_uuid(), now(), 'T', '{}')");
  admin.database().exec("CREATE PUBLICATION " + admin.name() + " FOR TABLE outbox WITH (publish = 'insert')");
  const auto result = admin.check();
  INFO(result.output);
  CHECK(result.status == 1);
  CHECK(finds(result, "publication.age", "error"));
  CHECK_THAT(result.output, ContainsSubstring("pg_replication_slot_advance"));
}

TEST_CASE("the SQL that check proposes for a row filter or a column list makes the publication fit") {
  AdminFixture admin;
  if (std::stoi(admin.database().value("SHOW server_version_num")) < 150'000) return;
  REQUIRE(admin.init().status == 0);
  for (const auto* broken : {"WHERE (type <> 'x')", "(id, type)"}) {
    CAPTURE(broken);
    admin.database().exec("ALTER PUBLICATION " + admin.name() + " SET TABLE outbox " + broken);
    const auto told = admin.run("check", {"--table", "public.outbox", "--preset", "standard", "--sink", "stdout"});
    INFO(told.output);
    const auto begin = told.output.find("BEGIN;");
    REQUIRE(begin != std::string::npos);
    admin.database().exec(told.output.substr(begin, told.output.find('\n', begin) - begin));
    const auto after = admin.check();
    INFO(after.output);
    CHECK(after.status == 0);
  }
}

TEST_CASE("a role that may not replicate gets the statement that lets it, with its name") {
  AdminFixture admin;
  REQUIRE(admin.init().status == 0);
  const auto role = admin.name() + "_plain";
  admin.database().exec("CREATE ROLE \"" + role + "\" LOGIN");
  const auto result = walrelay_command({"check", "--dsn", admin.database().dsn() + " user=" + role, "--slot",
                                        admin.name(), "--publication", admin.name(), "--table", "public.outbox",
                                        "--preset", "standard", "--sink", "stdout"});
  admin.database().exec("DROP ROLE \"" + role + "\"");
  INFO(result.output);
  CHECK(result.status == 1);
  const auto remedy = "remedy: ALTER ROLE \"" + role + "\" LOGIN REPLICATION;";
  CHECK_THAT(result.output, ContainsSubstring("error   server.query: "));
  CHECK(result.output.find(remedy) != result.output.rfind(remedy));  // of both connections
  CHECK_THAT(result.output, !ContainsSubstring("ROLE ..."));
}

TEST_CASE("check warns where the newest rows are told by a key that is no number") {
  AdminFixture admin;
  REQUIRE(admin.init({"--table", "public.outbox", "--preset", "debezium"}).status == 0);
  const auto check = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all{"--table", "public.outbox", "--preset", "debezium", "--sink", "stdout", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return admin.run("check", all);
  };
  const auto by_key = check({"--set", "outbox.0.retention.max_rows=100"});
  INFO(by_key.output << by_key.errors);
  CHECK(by_key.status == 0);
  CHECK(finds(by_key, "retention.order", "warning"));
  admin.database().exec("ALTER TABLE outbox ADD occurred_at timestamptz DEFAULT now()");
  const auto by_time = check({"--set", "outbox.0.retention.max_rows=100", "--set", "outbox.0.timestamp={occurred_at}"});
  INFO(by_time.output << by_time.errors);
  CHECK(finds(by_time, "retention", "ok"));
  CHECK_THAT(by_time.output, !ContainsSubstring("retention.order"));
}

TEST_CASE("a slot of another database is named as such") {
  AdminFixture admin;
  const TestDatabase other;
  REQUIRE(admin.init().status == 0);
  admin.database().exec("SELECT pg_drop_replication_slot(current_database())");
  PgSession(other.dsn()).exec("SELECT pg_create_logical_replication_slot('" + admin.name() + "', 'pgoutput')");
  const auto result = admin.check();
  CHECK(result.status == 1);
  CHECK_THAT(result.output, ContainsSubstring("belongs to database"));
  PgSession(other.dsn()).exec("SELECT pg_drop_replication_slot('" + admin.name() + "')");
}

TEST_CASE("an unreachable server and an unreachable broker are found within ten seconds") {
  const auto begin = std::chrono::steady_clock::now();
  const auto result =
      walrelay_command({"check", "--dsn", "host=127.0.0.1 port=1 dbname=shop user=relay password=s3cret", "--table",
                        "public.outbox", "--preset", "standard", "--brokers", "127.0.0.1:1", "--json"});
  INFO(result.output << result.errors);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(11));
  CHECK(result.status == 1);
  CHECK(finds(result, "server.connect", "error"));
  CHECK(finds(result, "replication.connect", "error"));
  CHECK(finds(result, "sink.broker", "error"));
  CHECK_THAT(result.output, ContainsSubstring("host=127.0.0.1 port=1 dbname=shop user=relay"));
  CHECK(result.output.find("s3cret") == std::string::npos);
}

TEST_CASE("check warns of a dead-letter topic that does not take what is too large for others") {
  AdminFixture admin;
  REQUIRE(admin.init().status == 0);
  const auto check = [&](const std::string& topic, const std::string& policy) {
    auto result =
        admin.run("check", {"--table", "public.outbox", "--preset", "standard", "--brokers", shared_kafka(), "--set",
                            "delivery.on_error." + policy, "--set", "delivery.dead_letter_topic=" + topic, "--json"});
    INFO(result.errors);
    CHECK(result.status == 0);
    return result;
  };
  const auto small = unique_name();
  create_topic(shared_kafka(), small, 1);
  const auto warned = check(small, "too-large=dead-letter");
  INFO(warned.output);
  CHECK(finds(warned, "sink.dead_letter", "warning"));
  CHECK_THAT(warned.output, ContainsSubstring("kafka-configs.sh --bootstrap-server " + shared_kafka() + " --alter"));
  CHECK_FALSE(finds(check(small, "rejected=dead-letter"), "sink.dead_letter", "warning"));
  const auto roomy = unique_name();
  create_topic(shared_kafka(), roomy, 1, {{"max.message.bytes", "2000000"}});
  CHECK_FALSE(finds(check(roomy, "too-large=dead-letter"), "sink.dead_letter", "warning"));
  const auto missing = check(unique_name(), "too-large=dead-letter");
  CHECK_THAT(missing.output, ContainsSubstring("of dead letters does not exist yet; `run` makes it"));
}

TEST_CASE("check tells the brokers and whether topics exist or may be made") {
  AdminFixture admin;
  REQUIRE(admin.init().status == 0);
  const auto result = admin.run("check", {"--table", "public.outbox", "--preset", "standard", "--brokers",
                                          shared_kafka(), "--set", "outbox.0.topic=" + admin.name(), "--json"});
  INFO(result.output << result.errors);
  CHECK(finds(result, "sink.broker", "ok"));
  CHECK_THAT(result.output, ContainsSubstring("topic \\\"" + admin.name() + "\\\" does not exist"));
}

TEST_CASE("a server without logical decoding is found by check and refused by init") {
  PostgresServer server(ServerSettings{{"wal_level", "replica"}});
  const auto checked = walrelay_command({"check", "--dsn", server.dsn(), "--table", "public.outbox", "--preset",
                                         "standard", "--sink", "stdout", "--json"});
  CHECK(checked.status == 1);
  CHECK(finds(checked, "server.wal_level", "error"));
  const auto made = walrelay_command({"init", "--dsn", server.dsn(), "--table", "public.outbox"});
  CHECK(made.status == 3);
  CHECK_THAT(made.errors, ContainsSubstring("ALTER SYSTEM SET wal_level = 'logical'"));
  CHECK(server.value("SELECT count(*) FROM pg_publication") == "0");
}

TEST_CASE("full slots, a lost slot and its remedy are found", "[versions]") {
  PostgresServer server(ServerSettings{{"max_replication_slots", "1"},
                                       {"max_slot_wal_keep_size", "1MB"},
                                       {"min_wal_size", "32MB"},
                                       {"max_wal_size", "32MB"}});
  const std::vector<std::string> common{"--dsn", server.dsn(), "--table", "public.outbox", "--slot"};
  const auto command = [&](std::vector<std::string> arguments, const std::string& slot) {
    arguments.insert(arguments.end(), common.begin(), common.end());
    arguments.push_back(slot);
    return walrelay_command(arguments);
  };
  REQUIRE(command({"init"}, "one").status == 0);
  const auto full = command({"check", "--preset", "standard", "--sink", "stdout", "--json"}, "two");
  CHECK(finds(full, "server.slots", "error"));

  server.exec("CREATE TABLE junk (t text)");
  for (int i = 0; i < 6; ++i) server.exec("INSERT INTO junk SELECT repeat('x', 100); SELECT pg_switch_wal()");
  server.exec("CHECKPOINT");
  const auto lost = command({"check", "--preset", "standard", "--sink", "stdout", "--json"}, "one");
  INFO(lost.output);
  CHECK(finds(lost, "slot", "error"));
  CHECK_THAT(lost.output, ContainsSubstring("is lost"));
}

// The part of `status --json` that is about one slot.
std::string about_slot(const std::string& json, const std::string& slot) {
  const auto begin = json.find("{\"slot\":\"" + slot + "\"");
  if (begin == std::string::npos) return "";
  return json.substr(begin, json.find("{\"slot\"", begin + 1) - begin);
}

TEST_CASE("status tells lag, retained WAL and the age of the oldest event of a slot that nobody reads", "[versions]") {
  AdminFixture admin;
  CHECK(admin.run("status", {}).status == 1);  // no slot yet
  REQUIRE(admin.init().status == 0);
  const auto idle = admin.run("status", {"--json"});
  INFO(idle.output << idle.errors);
  CHECK(idle.status == 0);
  CHECK_THAT(about_slot(idle.output, admin.name()), ContainsSubstring("\"lag_seconds\":0,"));

  admin.database().exec(
      "INSERT INTO outbox (id, occurred_at, type, payload) VALUES (gen_random_uuid(), now(), 'T', '{}')");
  const auto behind = about_slot(admin.run("status", {"--json"}).output, admin.name());
  INFO(behind);
  CHECK_THAT(behind, ContainsSubstring("\"instance\":null"));
  CHECK_THAT(behind, ContainsSubstring("\"lag_seconds\":"));
  CHECK(behind.find("\"lag_seconds\":0,") == std::string::npos);
  CHECK(behind.find("\"lag_seconds\":null") == std::string::npos);
  CHECK_THAT(admin.run("status", {}).output, ContainsSubstring("slot " + admin.name() + ": not in use"));
}

TEST_CASE("status says in words what is not known of a slot") {
  AdminFixture admin;
  REQUIRE(admin.init().status == 0);
  AdminFixture other;
  REQUIRE(other.init().status == 0);
  const auto physical = admin.name() + "_physical";
  admin.database().exec("SELECT pg_create_physical_replication_slot('" + physical + "')");
  const auto text = admin.run("status", {}).output;
  admin.database().exec("SELECT pg_drop_replication_slot('" + physical + "')");
  INFO(text);
  const auto lines_of = [&](const std::string& slot) {
    const auto begin = text.find("slot " + slot + ": ");
    return text.substr(begin, text.find("\nslot ", begin) - begin);
  };
  CHECK_THAT(lines_of(admin.name()), ContainsSubstring(", lag ") && ContainsSubstring("B, 0.0 s\n"));
  CHECK_THAT(lines_of(other.name()), ContainsSubstring("B\n  retained WAL ") && ContainsSubstring("B (reserved), "));
  CHECK_THAT(lines_of(physical), ContainsSubstring("no position is confirmed: a physical slot\n  retains no WAL"));
}

}  // namespace
}  // namespace walrelay::test
