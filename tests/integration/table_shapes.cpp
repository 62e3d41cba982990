// Which tables an outbox may be, and how they may change while the relay runs.

#include <fmt/format.h>

#include "tests/support/catch.h"
#include "tests/support/outbox_case.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

using Values = std::vector<std::string>;

// An [[outbox]] without a preset: topic NAME, value {payload}, header n from column n.
std::string plain_outbox(const std::string& table, const std::string& topic) {
  return fmt::format("table = {}\nid = \"{{n}}\"\ntopic = \"{}\"\nkey = \"{{n}}\"\nvalue = \"{{payload}}\"",
                     toml_quoted(table), topic);
}

// public.outbox (n, payload) with a running relay that has delivered row 1.
class ChangingOutbox : public OutboxCase {
 public:
  ChangingOutbox() {
    exec("CREATE TABLE outbox (gone text, n integer, payload text)");
    add_outbox(plain_outbox("public.outbox", name()));
    init();
    exec("INSERT INTO outbox (n, payload) VALUES (1, 'one')");
  }
  // What the topic holds when all that is committed is confirmed.
  [[nodiscard]] Values arrived() {
    REQUIRE(wait_drained());
    return values(name());
  }
};

TEST_CASE("several outbox tables and messages in one relay each go their own way, in the order of commits") {
  OutboxCase outbox;
  outbox.exec(
      "CREATE SCHEMA billing; CREATE TABLE one (n int, payload text); CREATE TABLE billing.one (n int, payload text); "
      "CREATE TABLE other (n int, payload text)");
  outbox.add_outbox(plain_outbox("public.one", outbox.name() + ".all"));
  outbox.add_outbox(plain_outbox("billing.one", outbox.name() + ".all"));
  outbox.add_outbox(fmt::format("messages = \"audit\"\ntopic = \"{}.audit\"", outbox.name()));
  outbox.init();
  outbox.exec("BEGIN; INSERT INTO billing.one VALUES (1, 'b1'); INSERT INTO one VALUES (2, 'p2'); COMMIT");
  outbox.exec("INSERT INTO other VALUES (9, 'not an outbox')");
  outbox.exec("INSERT INTO one VALUES (3, 'p3'); SELECT pg_logical_emit_message(true, 'audit', '{\"payload\": 3}')");
  outbox.exec("INSERT INTO billing.one VALUES (4, 'b4')");
  outbox.drain();
  CHECK(OutboxCase::values(outbox.name() + ".all") == Values{"b1", "p2", "p3", "b4"});
  CHECK(OutboxCase::values(outbox.name() + ".audit") == Values{"3"});
}

TEST_CASE("schemas, tables and columns of mixed case, with blanks and of any script are found by their names") {
  OutboxCase outbox;
  outbox.exec(R"(CREATE SCHEMA "Über uns";
    CREATE TABLE "Über uns"."Исходящие.v2" ("Id" int, "сумма €" text, "a ""quoted"" one" text, "select" text))");
  outbox.add_outbox(fmt::format(R"(table = "Über uns.Исходящие.v2"
id = "{{Id}}"
topic = "{}"
key = "{{select}}"
value = "{{сумма €}}"
headers = {{ "naïve" = "{{a \"quoted\" one}}" }})",
                                outbox.name()));
  outbox.init();
  outbox.exec(R"(INSERT INTO "Über uns"."Исходящие.v2" VALUES (1, 'сто', 'наив', 'ключ'))");
  outbox.drain();
  const auto records = OutboxCase::records(outbox.name());
  REQUIRE(records.size() == 1);
  CHECK(records[0].value == "сто");
  CHECK(records[0].key == "ключ");
  CHECK(records[0].header("naïve") == "наив");
  CHECK(records[0].header("id") == "1");
}

TEST_CASE("a partitioned outbox arrives alike with and without its root's name, over new and dropped partitions",
          "[versions]") {
  const bool via_root = GENERATE(true, false);
  CAPTURE(via_root);
  OutboxCase outbox;
  outbox.exec(
      "CREATE TABLE outbox (n int, day date, payload text) PARTITION BY RANGE (day);"
      "CREATE TABLE outbox_old PARTITION OF outbox FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');"
      "CREATE TABLE outbox_new (payload text, ignored int, day date, n int);"
      "ALTER TABLE outbox_new DROP COLUMN ignored");  // other column numbers than the root's
  outbox.exec(
      fmt::format("CREATE PUBLICATION \"{}\" FOR TABLE outbox WITH (publish = 'insert', "
                  "publish_via_partition_root = {})",
                  outbox.name(), via_root));
  outbox.add_outbox(plain_outbox("public.outbox", outbox.name()));
  outbox.init();
  RelayProcess relay(outbox.configuration());
  INFO(relay.log());
  outbox.exec(
      "INSERT INTO outbox VALUES (1, '2026-01-10', 'into the root'); INSERT INTO outbox_old VALUES (2, "
      "'2026-01-11', 'into the partition')");
  REQUIRE(outbox.wait_drained());
  outbox.exec("ALTER TABLE outbox ATTACH PARTITION outbox_new FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')");
  outbox.exec("INSERT INTO outbox VALUES (3, '2026-02-10', 'into the new one')");
  REQUIRE(outbox.wait_drained());
  outbox.exec("ALTER TABLE outbox DETACH PARTITION outbox_old; DROP TABLE outbox_old");
  outbox.exec("INSERT INTO outbox VALUES (4, '2026-02-11', 'after the old one')");
  REQUIRE(outbox.wait_drained());

  const auto records = OutboxCase::records(outbox.name());
  REQUIRE(records.size() == 4);
  for (std::size_t i = 0; i < records.size(); ++i) {
    CHECK(records[i].key == std::to_string(i + 1));
    CHECK(records[i].header("id") == std::to_string(i + 1));
  }
  CHECK(OutboxCase::values(outbox.name()) ==
        Values{"into the root", "into the partition", "into the new one", "after the old one"});
  CHECK(relay.stop() == ExitStatus{143, 0});
}

// Without the root's name in the stream only the catalog knows a partition, and it forgets one that is detached.
TEST_CASE("rows of a partition that is detached before they are read are not passed over", "[versions]") {
  OutboxCase outbox;
  outbox.exec(
      "CREATE TABLE outbox (n int, day date, payload text) PARTITION BY RANGE (day);"
      "CREATE TABLE outbox_old PARTITION OF outbox FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');"
      "CREATE TABLE outbox_new PARTITION OF outbox FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');"
      "CREATE TABLE other (n int, day date)");
  outbox.exec(
      fmt::format("CREATE PUBLICATION \"{}\" FOR TABLE outbox, other WITH (publish = 'insert')", outbox.name()));
  outbox.add_outbox(plain_outbox("public.outbox", outbox.name()));
  outbox.init();
  outbox.exec("INSERT INTO other VALUES (1, '2026-01-09')");
  outbox.exec("INSERT INTO outbox VALUES (1, '2026-01-10', 'one')");
  const auto commit = outbox.wal_position();
  outbox.exec(fmt::format("ALTER PUBLICATION \"{}\" DROP TABLE other", outbox.name()));
  outbox.exec("ALTER TABLE outbox DETACH PARTITION outbox_old");

  const auto refused = outbox.run("run", {"--drain"});
  INFO(refused.errors);
  CHECK(refused.status == 4);
  CHECK_THAT(refused.errors, ContainsSubstring("public.outbox_old") && ContainsSubstring("attach"));
  CHECK_FALSE(outbox.confirmed_reaches(commit));

  outbox.exec("ALTER TABLE outbox ATTACH PARTITION outbox_old FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')");
  outbox.drain();
  CHECK(OutboxCase::values(outbox.name()) == Values{"one"});
}

// Nothing tells what was a partition from the other tables that such a publication has.
TEST_CASE("where a detached partition stays published its rows are passed over, and check proposes what saves them") {
  const auto what = GENERATE("FOR ALL TABLES", "FOR TABLE outbox_old, outbox_new");
  const bool mended = GENERATE(false, true);
  CAPTURE(what, mended);
  OutboxCase outbox;
  outbox.exec(
      "CREATE TABLE outbox (n int, day date, payload text) PARTITION BY RANGE (day);"
      "CREATE TABLE outbox_old PARTITION OF outbox FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');"
      "CREATE TABLE outbox_new PARTITION OF outbox FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')");
  outbox.exec(fmt::format("CREATE PUBLICATION \"{}\" {} WITH (publish = 'insert')", outbox.name(), what));
  outbox.add_outbox(plain_outbox("public.outbox", outbox.name()));
  outbox.init();
  const auto told = outbox.run("check");
  INFO(told.output);
  const auto finding = told.output.find("publication.partitions");
  REQUIRE(finding != std::string::npos);
  const auto remedy = told.output.find("remedy: ", finding) + 8;
  if (mended) outbox.exec(told.output.substr(remedy, told.output.find('\n', remedy) - remedy));
  CHECK((outbox.run("check").output.find("publication.partitions") == std::string::npos) == mended);
  outbox.exec("INSERT INTO outbox VALUES (1, '2026-01-10', 'one')");
  outbox.exec("ALTER TABLE outbox DETACH PARTITION outbox_old");
  const auto drained = outbox.run("run", {"--drain"});
  INFO(drained.errors);
  if (!mended) {
    CHECK_THAT(drained.errors, ContainsSubstring("table_ignored"));
    CHECK(drained.status == 0);
    return;
  }
  if (drained.status == 4) {  // it is told to attach it again
    outbox.exec("ALTER TABLE outbox ATTACH PARTITION outbox_old FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')");
    outbox.drain();
  }
  CHECK(OutboxCase::values(outbox.name()) == Values{"one"});
}

TEST_CASE("columns may be added, dropped and put elsewhere while the relay runs", "[versions]") {
  ChangingOutbox outbox;
  RelayProcess relay(outbox.configuration());
  INFO(relay.log());
  REQUIRE(outbox.wait_drained());
  outbox.exec("ALTER TABLE outbox ADD extra jsonb DEFAULT '{\"not\": \"mapped\"}'");
  outbox.exec("INSERT INTO outbox (n, payload) VALUES (2, 'two')");
  outbox.exec("ALTER TABLE outbox DROP gone");
  outbox.exec("INSERT INTO outbox (n, payload) VALUES (3, 'three')");
  outbox.exec(
      "BEGIN; ALTER TABLE outbox DROP n; ALTER TABLE outbox ADD n bigint DEFAULT 4;"
      "INSERT INTO outbox (payload) VALUES ('four'); COMMIT");
  outbox.exec("ALTER TABLE outbox ALTER payload TYPE varchar(10); INSERT INTO outbox VALUES ('five', NULL, 5)");
  CHECK(outbox.arrived() == Values{"one", "two", "three", "four", "five"});
  const auto records = OutboxCase::records(outbox.name());
  REQUIRE(records.size() == 5);
  CHECK(records[3].key == "4");
  CHECK(records[4].key == "5");
  CHECK(relay.stop() == ExitStatus{143, 0});
}

// The rows are read after the change, and yet as they were written.
TEST_CASE("rows from before a change are mapped by the columns that the table had then", "[versions]") {
  ChangingOutbox outbox;
  outbox.exec("ALTER TABLE outbox DROP n; ALTER TABLE outbox ADD n int");
  outbox.exec("INSERT INTO outbox VALUES (NULL, 'two', 2)");
  outbox.exec("ALTER TABLE outbox DROP payload, ADD payload text");
  outbox.exec("INSERT INTO outbox VALUES (NULL, 3, 'three')");
  outbox.drain();
  CHECK(OutboxCase::values(outbox.name()) == Values{"one", "two", "three"});
}

TEST_CASE("a dropped column that the mapping needs halts the relay before its row, with table and column named",
          "[versions]") {
  ChangingOutbox outbox;
  RelayProcess relay(outbox.configuration());
  REQUIRE(outbox.wait_drained());
  outbox.exec("ALTER TABLE outbox DROP payload");
  outbox.exec("INSERT INTO outbox (n) VALUES (2)");
  const auto commit = outbox.wal_position();
  outbox.exec("INSERT INTO outbox (n) VALUES (3)");

  CHECK(relay.process().wait(seconds(20)) == ExitStatus{4, 0});
  INFO(relay.log());
  CHECK_THAT(relay.log(), ContainsSubstring("public.outbox"));
  CHECK_THAT(relay.log(), ContainsSubstring("payload"));
  CHECK_FALSE(outbox.confirmed_reaches(commit));
  CHECK(OutboxCase::values(outbox.name()) == Values{"one"});

  // The next start says what the table lacks; and the remedy works.
  CHECK(outbox.run("run", {"--drain"}).status == 2);
  CHECK_FALSE(outbox.confirmed_reaches(commit));
  CHECK(outbox.run("run", {"--drain", "--set", "delivery.on_error=skip"}).status == 0);
  CHECK(outbox.confirmed_reaches(commit));
}

}  // namespace
}  // namespace walrelay::test
