// `walrelay init` and `drop` against a real server.

#include "tests/integration/admin_support.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {
namespace {

TEST_CASE("init makes table, publication and slot, and a second one keeps them", "[versions]") {
  AdminFixture admin;
  const auto first = admin.init();
  INFO(first.errors);
  REQUIRE(first.status == 0);
  CHECK(admin.database().value("SELECT pubinsert AND NOT pubupdate AND NOT pubdelete AND NOT pubtruncate FROM "
                               "pg_publication WHERE pubname = current_database()") == "t");
  CHECK(admin.database().value("SELECT plugin FROM pg_replication_slots WHERE slot_name = current_database()") ==
        "pgoutput");
  const auto position = admin.database().value(
      "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = current_database()");

  const auto second = admin.init();
  INFO(second.errors);
  CHECK(second.status == 0);
  CHECK(second.output == first.output);
  CHECK(admin.database().value("SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = "
                               "current_database()") == position);
}

TEST_CASE("the configuration that init proposes is one that check is content with") {
  AdminFixture admin;
  const auto made = admin.init({"--table", "public.outbox", "--sink", "stdout"});
  REQUIRE(made.status == 0);
  const auto checked = walrelay_command({"check"}, made.output);
  INFO(checked.output << checked.errors << made.output);
  CHECK(checked.status == 0);
}

TEST_CASE("init tells the preset from an existing table's columns") {
  const auto preset = GENERATE(as<std::string>(), "standard", "pascal", "messageid", "debezium");
  CAPTURE(preset);
  AdminFixture admin;
  REQUIRE(admin.init({"--table", "public.Events", "--preset", preset}).status == 0);
  const auto again = admin.init({"--table", "public.Events"});
  INFO(again.errors);
  CHECK(again.status == 0);
  CHECK_THAT(again.output, ContainsSubstring("preset = \"" + preset + "\""));
}

TEST_CASE("names in mixed case, in other alphabets and with quotes are taken as they are") {
  AdminFixture admin;
  admin.database().exec("CREATE SCHEMA \"Läger\"");
  const auto made = admin.init({"--table", "Läger.Out,box \"x\"", "--publication", "Пуб \"x\""});
  INFO(made.errors);
  REQUIRE(made.status == 0);
  CHECK(admin.count("\"Läger\".\"Out,box \"\"x\"\"\"") == "0");
  CHECK(admin.count("pg_publication WHERE pubname = 'Пуб \"x\"'") == "1");
}

TEST_CASE("init --print changes nothing, and its SQL does what init does") {
  AdminFixture admin;
  const auto printed = admin.init({"--table", "public.outbox", "--print"});
  INFO(printed.output << printed.errors);
  REQUIRE(printed.status == 0);
  CHECK(admin.count("pg_publication") == "0");
  CHECK_THAT(printed.output, ContainsSubstring("CREATE TABLE \"public\".\"outbox\""));
  CHECK(printed.output.find("CREATE PUBLICATION") < printed.output.find("pg_create_logical_replication_slot"));

  const TempDir directory;
  write_file(directory.file("init.sql"), printed.output);
  const auto psql =
      run_command("psql", {"-X", "-v", "ON_ERROR_STOP=1", "-f", directory.file("init.sql"), admin.database().dsn()});
  INFO(psql.errors);
  REQUIRE(psql.status == 0);
  const auto after = admin.init();
  CHECK(after.status == 0);
  CHECK(after.errors.find("made ") == std::string::npos);
}

TEST_CASE("a role that init makes can stream and has no right on the table") {
  AdminFixture admin;
  const auto role = admin.name() + "@x";
  REQUIRE(admin.init({"--table", "public.outbox", "--role", role}).status == 0);
  CHECK(admin.database().value(
            "SELECT rolreplication AND rolcanlogin AND NOT rolsuper FROM pg_roles WHERE rolname = '" + role + "'") ==
        "t");
  CHECK(admin.database().value("SELECT has_table_privilege('" + role + "', 'public.outbox', 'SELECT')") == "f");
  auto arguments = std::vector<std::string>{"check",      "--dsn",      admin.database().dsn() + " user='" + role + "'",
                                            "--slot",     admin.name(), "--publication",
                                            admin.name(), "--table",    "public.outbox",
                                            "--preset",   "standard",   "--sink",
                                            "stdout",     "--json"};
  const auto checked = walrelay_command(arguments);
  INFO(checked.output << checked.errors);
  CHECK(checked.status == 0);
  admin.database().exec("REVOKE ALL ON DATABASE " + admin.name() + " FROM \"" + role + "\"; DROP ROLE \"" + role +
                        "\"");
}

// Being the table's owner is not enough for that, and the remedy used to say that it is.
TEST_CASE("an owner who may not make the role or the publication is told who may", "[versions]") {
  AdminFixture admin;
  auto& database = admin.database();
  const auto owner = admin.name() + "_owner";
  const auto role = admin.name() + "_role";
  database.exec("CREATE ROLE " + owner + " LOGIN CREATEROLE; CREATE SCHEMA s AUTHORIZATION " + owner);
  const auto init = [&] {
    return walrelay_command({"init", "--dsn", database.dsn() + " user=" + owner, "--slot", admin.name(),
                             "--publication", admin.name(), "--table", "s.outbox", "--role", role});
  };
  const auto no_role = init();
  CHECK(no_role.status == 3);
  const bool before_16 = std::stoi(database.value("SHOW server_version_num")) < 160'000;
  CHECK_THAT(no_role.errors, ContainsSubstring(before_16 ? "run init as a superuser (before PostgreSQL 16"
                                                         : "run init as a superuser or as a role with CREATEROLE and"));
  CHECK(no_role.errors.find("owner or an administrator") == std::string::npos);

  database.exec("CREATE ROLE " + role + " LOGIN REPLICATION; ALTER ROLE " + owner + " NOCREATEROLE REPLICATION");
  const auto no_publication = init();
  CHECK(no_publication.status == 3);
  const auto grant = "GRANT CREATE ON DATABASE \"" + admin.name() + "\" TO \"" + owner + "\"";
  CHECK_THAT(no_publication.errors, ContainsSubstring(grant));

  database.exec(grant);
  const auto made = init();
  INFO(made.errors);
  CHECK(made.status == 0);
  database.exec("SELECT pg_drop_replication_slot('" + admin.name() + "')");
  database.exec("DROP OWNED BY " + owner + "; DROP ROLE " + owner + "; DROP ROLE " + role);
}

TEST_CASE("a name in the wrong letter case makes no second table") {
  AdminFixture admin;
  admin.database().exec("CREATE TABLE \"OutboxMessages\" (id int)");
  const auto result = admin.init({"--table", "public.outbox_messages"});
  CHECK(result.status == 1);
  CHECK_THAT(result.errors, ContainsSubstring("public.OutboxMessages"));
  CHECK(admin.count("pg_tables WHERE schemaname = 'public'") == "1");
}

TEST_CASE("a plural for a singular makes no second table, and a mistyped name is told") {
  AdminFixture admin;
  admin.database().exec("CREATE TABLE outbox_messages (id int)");
  const auto singular = admin.init({"--table", "public.outbox_message"});
  CHECK(singular.status == 1);
  CHECK_THAT(singular.errors, ContainsSubstring("public.outbox_messages"));
  const auto mistyped = admin.init({"--table", "public.outbox_mesages", "--print"});
  CHECK(mistyped.status == 0);
  // The slot may have been there before.
  CHECK_THAT(mistyped.errors, ContainsSubstring("if \"public.outbox_messages\" was meant: DROP TABLE"));
  CHECK(mistyped.errors.find("walrelay drop") == std::string::npos);
  const auto nowhere = admin.init({"--table", "publik.outbox", "--print"});
  CHECK(nowhere.status == 1);
  CHECK_THAT(nowhere.errors,
             ContainsSubstring("no schema \"publik\"") && ContainsSubstring("CREATE SCHEMA \"publik\""));
}

TEST_CASE("init tells of rows that the slot will not bring, as long as it makes the slot and publishes none of them") {
  AdminFixture admin;
  admin.database().exec(
      "CREATE TABLE outbox (id uuid DEFAULT gen_random_uuid(), occurred_at timestamptz, type text, payload jsonb)");
  const auto hint = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> all{"--table", "public.outbox"};
    all.insert(all.end(), flags.begin(), flags.end());
    const auto result = admin.init(all);
    INFO(result.errors);
    CHECK(result.status == 0);
    const auto found = result.errors.find("rows from before the slot");
    return found == std::string::npos ? "" : result.errors.substr(result.errors.rfind('\n', found) + 1);
  };
  CHECK(hint({"--print"}).empty());
  admin.database().exec("INSERT INTO outbox (type) SELECT 'A' FROM generate_series(1, 300)");
  CHECK_THAT(hint({"--print"}), ContainsSubstring("table \"public.outbox\" has rows from before the slot"));
  CHECK_THAT(hint({"--print"}), ContainsSubstring("--backfill all or since=TIME publishes them"));
  admin.database().exec("ALTER TABLE outbox ADD processed_at timestamptz");
  CHECK_THAT(hint({"--print"}), ContainsSubstring("--backfill all or unprocessed (with --set "
                                                  "outbox.0.processed_at=processed_at) or since=TIME publishes them"));
  CHECK_THAT(hint({"--print", "--set", "outbox.0.processed_at=processed_at"}),
             ContainsSubstring("--backfill all or unprocessed or since=TIME publishes them"));
  admin.database().exec("ANALYZE outbox");
  CHECK(hint({"--print", "--backfill", "all", "--sink", "file", "--set", "sink.file.path=/dev/null"}).empty());
  CHECK_THAT(hint({}), ContainsSubstring("has about 300 rows") && ContainsSubstring("--backfill all"));
  CHECK(hint({}).empty());  // the slot is there
}

TEST_CASE("init proposes no backfill that it would refuse") {
  AdminFixture admin;
  admin.database().exec(
      "CREATE TABLE outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb); INSERT INTO "
      "outbox "
      "(type) VALUES ('A')");
  const auto result = admin.init({"--table", "public.outbox", "--print"});
  INFO(result.errors);
  CHECK(result.status == 0);
  CHECK_THAT(result.errors, ContainsSubstring("--backfill all publishes them"));
}

TEST_CASE("init warns of a superuser that the relay would be, unless it is told of a role") {
  AdminFixture admin;
  const auto alone = admin.init({"--table", "public.outbox", "--print"});
  CHECK(alone.status == 0);
  CHECK_THAT(alone.errors, ContainsSubstring("a superuser; --role NAME makes a role"));
  const auto named = admin.init({"--table", "public.outbox", "--print", "--role", "somebody"});
  CHECK(named.status == 0);
  CHECK_THAT(named.errors, !ContainsSubstring("superuser"));
}

TEST_CASE("a table that no preset fits gets the presets' columns told, and nothing is made") {
  AdminFixture admin;
  admin.database().exec("CREATE TABLE outbox (a int, b text)");
  const auto result = admin.init();
  CHECK(result.status == 1);
  CHECK_THAT(result.errors, ContainsSubstring("no preset fits"));
  CHECK_THAT(result.errors, ContainsSubstring("debezium (id, aggregatetype"));
  CHECK(admin.count("pg_publication") == "0");
}

TEST_CASE("init --column-list publishes the mapped columns that the table has") {
  AdminFixture admin;
  if (std::stoi(admin.database().value("SHOW server_version_num")) < 150'000) return;
  REQUIRE(admin.init({"--table", "public.outbox", "--preset", "debezium", "--print"}).status == 0);
  REQUIRE(admin.init({"--table", "public.outbox", "--preset", "debezium", "--column-list"}).status == 0);
  CHECK(admin.database().value("SELECT prattrs IS NOT NULL FROM pg_publication_rel") == "t");
}

TEST_CASE("a partitioned table is published under its own name") {
  AdminFixture admin;
  admin.database().exec(
      "CREATE TABLE outbox (id uuid, occurred_at timestamptz, type text, payload jsonb) PARTITION BY RANGE "
      "(occurred_at)");
  REQUIRE(admin.init().status == 0);
  CHECK(admin.database().value("SELECT pubviaroot FROM pg_publication") == "t");
}

TEST_CASE("a table is added to a publication that exists, and what it publishes besides inserts is told") {
  AdminFixture admin;
  admin.database().exec("CREATE TABLE other (id int); CREATE PUBLICATION " + admin.name() + " FOR TABLE other");
  const auto result = admin.init();
  INFO(result.errors);
  CHECK(result.status == 0);
  CHECK(admin.count("pg_publication_tables WHERE tablename = 'outbox'") == "1");
  CHECK_THAT(result.errors, ContainsSubstring("also publishes update, delete, truncate"));
}

TEST_CASE("a publication without inserts and a slot of another plugin do not fit, and nothing is changed") {
  AdminFixture admin;
  admin.database().exec("CREATE PUBLICATION " + admin.name() + " WITH (publish = 'delete')");
  admin.database().exec("SELECT pg_create_logical_replication_slot(current_database(), 'test_decoding')");
  const auto result = admin.init();
  CHECK(result.status == 1);
  CHECK_THAT(result.errors, ContainsSubstring("does not publish inserts"));
  CHECK_THAT(result.errors, ContainsSubstring("uses the plugin test_decoding"));
  CHECK(admin.count("pg_tables WHERE schemaname = 'public'") == "0");
}

TEST_CASE("messages need no table") {
  AdminFixture admin;
  const auto result = admin.init({"--set", "outbox.0.messages=outbox", "--set", "outbox.0.topic=events"});
  INFO(result.errors);
  CHECK(result.status == 0);
  CHECK_THAT(result.output, ContainsSubstring("messages = \"outbox\""));
}

TEST_CASE("drop asks, removes slot and publication, and can be repeated", "[versions]") {
  AdminFixture admin;
  REQUIRE(admin.init().status == 0);
  const auto refused = admin.run("drop", {});
  CHECK(refused.status == 1);  // nobody answers
  CHECK(admin.count("pg_publication") == "1");
  CHECK(admin.run("drop", {"--yes"}).status == 0);
  CHECK(admin.count("pg_publication") == "0");
  CHECK(admin.count("pg_replication_slots WHERE slot_name = current_database()") == "0");
  CHECK(admin.run("drop", {"--yes"}).status == 0);
}

TEST_CASE("who does not own the publication drops the slot, and is told what is left to its owner") {
  AdminFixture admin;
  REQUIRE(admin.init().status == 0);
  admin.database().exec("CREATE ROLE \"" + admin.name() + "\" LOGIN REPLICATION");
  const auto result = walrelay_command({"drop", "--yes", "--dsn", admin.database().dsn() + " user=" + admin.name(),
                                        "--slot", admin.name(), "--publication", admin.name()},
                                       "", {});
  admin.database().exec("DROP ROLE \"" + admin.name() + "\"");
  CHECK(result.status == 3);
  CHECK_THAT(result.errors, ContainsSubstring("its owner removes it: DROP PUBLICATION \"" + admin.name() + "\";"));
  CHECK(admin.count("pg_replication_slots WHERE slot_name = current_database()") == "0");
  CHECK(admin.count("pg_publication") == "1");
}

}  // namespace
}  // namespace walrelay::test
