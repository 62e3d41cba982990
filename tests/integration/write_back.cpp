// What the relay leaves in the tables that it publishes from.

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <vector>

#include "connector/postgres/write_back_sql.h"
#include "connector/progress_record.h"
#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/outbox_case.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr const char* kTable =
    "CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), occurred_at timestamptz NOT NULL DEFAULT "
    "now(), type text NOT NULL, payload jsonb, processed_at timestamptz, attempts integer NOT NULL DEFAULT 0, error "
    "text);";

// A table of preset standard whose events go to one topic, with what `lines` ask for.
class WrittenOutbox {
 public:
  explicit WrittenOutbox(const std::string& lines, const std::string& settings = "",
                         const TopicSettings& of_topic = {}) {
    outbox_.exec(kTable);
    outbox_.add_outbox("table = \"public.outbox\"\npreset = \"standard\"\n" + lines);
    if (!settings.empty()) outbox_.add_settings(settings);
    outbox_.init();
    create_topic(shared_kafka(), topic(), 2, of_topic);
  }

  [[nodiscard]] OutboxCase& outbox() { return outbox_; }
  [[nodiscard]] TestDatabase& database() { return outbox_.database(); }
  [[nodiscard]] std::string topic() { return "outbox." + outbox_.name(); }
  void insert(int rows) {
    outbox_.exec(fmt::format(
        "INSERT INTO outbox (type, payload) SELECT '{}', jsonb_build_object('n', n) FROM generate_series(1, {}) n",
        outbox_.name(), rows));
  }
  [[nodiscard]] int count(const std::string& condition) {
    return std::stoi(database().value("SELECT count(*) FROM outbox WHERE " + condition));
  }
  [[nodiscard]] bool wait_for(const std::string& condition, int rows) {
    return wait_until(seconds(20), [&] { return count(condition) == rows; });
  }

 private:
  OutboxCase outbox_;
};

const std::string kMarked = "processed_at = \"processed_at\"\nattempts = \"attempts\"\nerror = \"error\"";

// The SQL with its parameters $1, $2, ... written out.
std::string replaced(std::string sql, const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto name = fmt::format("${}", i + 1);
    sql.replace(sql.find(name), name.size(), values[i]);
  }
  return sql;
}

double result_of(RelayProcess& relay, const std::string& result) {
  return relay.metric("walrelay_write_back_rows_total", {{"result", result}}).value_or(0);
}

// ---- presets --------------------------------------------------------------------------------------------------------

struct PolledTable {
  std::string preset;
  std::string columns;
  std::string processed_at;
  std::string others;  // columns that a worker leaves alone, for SQL
  std::string more;    // keys of the [[outbox]]
};

const std::array kPolledTables = {
    PolledTable{
        "standard",
        "id uuid PRIMARY KEY DEFAULT gen_random_uuid(), occurred_at timestamptz NOT NULL DEFAULT now(), type text "
        "NOT NULL, payload jsonb, trace_parent text, processed_at timestamptz, attempts integer NOT NULL DEFAULT "
        "0, error text",
        "processed_at", "id, occurred_at, type, payload, trace_parent, attempts, error",
        "attempts = \"attempts\"\nerror = \"error\""},
    PolledTable{"pascal",
                R"("Id" uuid PRIMARY KEY DEFAULT gen_random_uuid(), "Type" text NOT NULL, "Payload" jsonb, "OccurredAt"
                   timestamptz NOT NULL DEFAULT now(), "ProcessedAt" timestamptz, "RetryCount" integer NOT NULL DEFAULT 0)",
                "ProcessedAt", R"("Id", "Type", "Payload", "OccurredAt", "RetryCount")", "attempts = \"RetryCount\""},
    PolledTable{"messageid",
                R"("Id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "MessageId" uuid NOT NULL UNIQUE DEFAULT
                   gen_random_uuid(), "Type" text NOT NULL, "Payload" text, "CreatedAt" timestamptz NOT NULL DEFAULT
                   now(), "ProcessedAt" timestamptz)",
                "ProcessedAt", R"("Id", "MessageId", "Type", "Payload", "CreatedAt")", ""},
};

std::string column_like(const PolledTable& table, const std::string& name) {
  return table.preset == "standard" ? name : std::string(1, static_cast<char>(name[0] - 32)) + name.substr(1);
}

}  // namespace

TEST_CASE("the tables of the polling presets look as their workers would leave them, partial indexes too",
          "[versions]") {
  const auto table = GENERATE(from_range(kPolledTables));
  CAPTURE(table.preset);
  OutboxCase outbox;
  auto& database = outbox.database();
  outbox.exec(
      fmt::format("CREATE TABLE \"Rows\" ({0}); CREATE INDEX waiting ON \"Rows\" (\"{1}\") WHERE \"{2}\" IS NULL",
                  table.columns, column_like(table, "type"), table.processed_at));
  outbox.add_outbox(fmt::format("table = \"public.Rows\"\npreset = \"{}\"\nprocessed_at = \"{}\"\n{}", table.preset,
                                table.processed_at, table.more));
  outbox.init();
  outbox.exec(fmt::format(R"(INSERT INTO "Rows" ("{}", "{}") SELECT '{}', '{{"n": 1}}' FROM generate_series(1, 2500))",
                          column_like(table, "type"), column_like(table, "payload"), outbox.name()));
  const auto others = fmt::format(
      "SELECT md5(string_agg(r::text, '' ORDER BY r)) FROM (SELECT ROW({}) AS r FROM \"Rows\") q", table.others);
  const auto before = database.value(others);
  outbox.drain();
  CHECK(OutboxCase::records("outbox." + outbox.name()).size() == 2500);
  CHECK(database.value(
            fmt::format("SELECT count(*) FROM \"Rows\" WHERE \"{0}\" BETWEEN now() - interval '1 minute' AND now()",
                        table.processed_at)) == "2500");
  CHECK(database.value(others) == before);
  outbox.exec("VACUUM \"Rows\"");
  CHECK(database.value("SELECT reltuples FROM pg_class WHERE relname = 'waiting'") == "0");
}

TEST_CASE("after = \"ack\" leaves the table empty, and everything is published") {
  WrittenOutbox t("[outbox.retention]\nafter = \"ack\"");
  t.insert(2500);
  t.outbox().drain();
  CHECK(OutboxCase::records(t.topic()).size() == 2500);
  CHECK(t.count("true") == 0);
}

TEST_CASE("ids and times of every kind: rows are found, by their index, and marked", "[versions]") {
  OutboxCase outbox;
  outbox.exec("CREATE DOMAIN order_id AS bigint; CREATE SCHEMA \"Big Shop\"");
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"bigint", "bigint"},        {"text", "timestamp"},       {"varchar(40)", "date"},
      {"char(40)", "timestamptz"}, {"numeric", "timestamp(0)"}, {"order_id", "timestamptz"}};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    outbox.exec(fmt::format("CREATE TABLE \"Big Shop\".\"t{}\" (\"Row Id\" {} PRIMARY KEY, body text, done {})", i,
                            kinds[i].first, kinds[i].second));
    outbox.add_outbox(
        fmt::format("table = \"Big Shop.t{}\"\nid = \"{{Row Id}}\"\ntopic = \"{}\"\nvalue = "
                    "\"{{body}}\"\nprocessed_at = \"done\"",
                    i, outbox.name()));
  }
  outbox.init();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const bool text = i >= 1 && i <= 3;
    outbox.exec(fmt::format("INSERT INTO \"Big Shop\".\"t{}\" SELECT {}, 'x' FROM generate_series(1, 50) n", i,
                            text ? R"(n || ' a"b\c''{d},')" : "n"));
  }
  outbox.drain();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    CAPTURE(kinds[i].first, kinds[i].second);
    CHECK(outbox.database().value(fmt::format("SELECT count(done) FROM \"Big Shop\".\"t{}\"", i)) == "50");
  }
  CHECK(outbox.database().value("SELECT count(*) FROM \"Big Shop\".t0 WHERE to_timestamp(done / 1000.0) BETWEEN now() "
                                "- interval '1 minute' AND now()") == "50");
  CHECK(outbox.database().value("SELECT count(*) FROM \"Big Shop\".t1 WHERE done AT TIME ZONE 'UTC' BETWEEN now() - "
                                "interval '1 minute' AND now()") == "50");
}

TEST_CASE("the statements of write-back find rows by the index of the id, whatever its type", "[versions]") {
  OutboxCase outbox;
  outbox.exec("CREATE DOMAIN order_id AS bigint");
  for (const std::string type :
       {"uuid", "integer", "bigint", "varchar(40)", "char(40)", "text", "numeric", "order_id"}) {
    CAPTURE(type);
    const std::string value = type == "uuid" ? "gen_random_uuid()" : "n";
    outbox.exec(
        fmt::format("DROP TABLE IF EXISTS t; CREATE TABLE t (id {0} PRIMARY KEY, done timestamptz); INSERT INTO t "
                    "SELECT {1}::{0} FROM generate_series(1, 20000) n; ANALYZE t",
                    type, value));
    const auto described = outbox.database().query(replaced(kWriteBackColumnsSql, {"'public'", "'t'", "'{id,done}'"}) +
                                                   " ORDER BY name DESC");
    REQUIRE(described.size() == 2);
    std::vector<WriteBackColumn> columns;
    for (const auto& row : described) columns.push_back({{row[0].value(), row[2].value()}, row[1].value(), 0});
    OutboxRules rules;
    rules.table = "public.t";
    rules.id = "{id}";
    rules.topic = rules.value = "{id}";
    rules.processed_at = "done";

    WriteBackBatch batch;
    batch.ids = fmt::format(
        "{{{}}}", outbox.database().value("SELECT string_agg(id::text, ',') FROM (SELECT id FROM t LIMIT 20) q"));
    for (const int variant : {0, 1, 2, 3}) {
      const bool deletes = variant >= 2;
      rules.retention.after = deletes ? "ack" : "";
      std::string statement = WriteBackStatements(rules, columns).of(batch, variant % 2 == 1);
      statement.erase(0, statement.find(deletes ? "DELETE FROM" : "UPDATE \""));
      std::string plan;
      for (const auto& line : outbox.database().query("EXPLAIN " + statement)) plan += line[0].value() + "\n";
      CAPTURE(statement, plan);
      CHECK_THAT(plan, ContainsSubstring("t_pkey"));
      CHECK(plan.find("Seq Scan") == std::string::npos);
    }
  }
}

TEST_CASE("rows of a partitioned table are marked in whichever partition they are") {
  OutboxCase outbox;
  outbox.exec(
      "CREATE TABLE parts (id bigint, at timestamptz, body text, done timestamptz, PRIMARY KEY (id, at)) PARTITION BY "
      "RANGE (at); CREATE TABLE parts_old PARTITION OF parts FOR VALUES FROM (MINVALUE) TO ('2024-01-01'); CREATE "
      "TABLE "
      "parts_new PARTITION OF parts DEFAULT");
  outbox.add_outbox(
      fmt::format("table = \"public.parts\"\nid = \"{{id}}\"\ntopic = \"{}\"\nvalue = \"{{body}}\"\n"
                  "timestamp = \"{{at}}\"\nprocessed_at = \"done\"",
                  outbox.name()));
  outbox.init();
  outbox.exec(
      "INSERT INTO parts SELECT n, CASE WHEN n % 2 = 0 THEN '2023-01-01' ELSE now() END, 'x' FROM "
      "generate_series(1, 20) n");
  outbox.drain();
  CHECK(outbox.database().value("SELECT count(done) FROM parts") == "20");
}

// PostgreSQL moves such a row by DELETE and INSERT, and the stream has the INSERT.
TEST_CASE("a column that rows are partitioned by is not written to, since each event would come again") {
  const auto* const key = GENERATE("RANGE (done)", "LIST ((done IS NULL))");
  const bool range = std::string_view(key).starts_with("RANGE");
  OutboxCase outbox;
  outbox.exec(fmt::format("CREATE TABLE parts (id bigint, body text, done timestamptz) PARTITION BY {}", key));
  outbox.exec(
      fmt::format("CREATE TABLE parts_done PARTITION OF parts FOR VALUES {}; CREATE TABLE parts_open PARTITION "
                  "OF parts DEFAULT; CREATE INDEX ON parts (id)",
                  range ? "FROM (MINVALUE) TO (MAXVALUE)" : "IN (false)"));
  outbox.add_outbox(fmt::format(
      "table = \"public.parts\"\nid = \"{{id}}\"\ntopic = \"{}\"\nvalue = \"{{body}}\"\nprocessed_at = \"done\"",
      outbox.name()));
  outbox.init();
  outbox.exec("INSERT INTO parts VALUES (1, 'one'), (2, 'two')");
  const auto checked = outbox.run("check");
  CHECK(checked.status == 1);
  CHECK_THAT(checked.output, ContainsSubstring("\"done\"") && ContainsSubstring("partition key"));
  const auto drained = outbox.run("run", {"--drain"});
  INFO(drained.errors);
  CHECK(drained.status == 0);
  CHECK_THAT(drained.errors, ContainsSubstring("write_back_failed") && ContainsSubstring("partition key"));
  outbox.drain();
  CHECK(OutboxCase::values(outbox.name()) == std::vector<std::string>{"one", "two"});
}

// ---- failures of events ---------------------------------------------------------------------------------------------

TEST_CASE("dead letters leave their attempts and the reason in their rows, and are not marked") {
  WrittenOutbox t(kMarked, "[delivery]\non_error = \"dead-letter\"\n", {{"max.message.bytes", "2000"}});
  t.insert(3);
  t.outbox().exec(
      fmt::format("INSERT INTO outbox (type, payload) VALUES ('no topic!', '{{}}'), ('{}', jsonb_build_object("
                  "'big', repeat(md5(random()::text), 100)))",
                  t.outbox().name()));
  t.outbox().drain();
  CHECK(t.count("processed_at IS NOT NULL AND attempts = 0 AND error IS NULL") == 3);
  CHECK(t.count("processed_at IS NULL AND attempts = 1 AND error LIKE 'topic: %Kafka forbids%'") == 1);
  CHECK(t.count("processed_at IS NULL AND attempts = 1 AND error LIKE 'too-large: %'") == 1);
}

TEST_CASE("with after = \"ack\" the rows of skipped events stay, with the reason if there is a column for it") {
  WrittenOutbox t("error = \"error\"\n[outbox.retention]\nafter = \"ack\"", "[delivery]\non_error = \"skip\"\n");
  t.insert(3);
  t.outbox().exec("INSERT INTO outbox (type, payload) VALUES ('no topic!', '{}')");
  t.outbox().drain();
  CHECK(t.count("true") == 1);
  CHECK(t.count("error LIKE 'topic: %' AND attempts = 0") == 1);
}

TEST_CASE("the row that halts the relay tells why, and is marked once its event has been delivered") {
  WrittenOutbox t(kMarked);
  t.outbox().exec("ALTER TABLE outbox ALTER error TYPE varchar(20)");
  t.insert(2);
  t.outbox().exec(fmt::format("INSERT INTO outbox (type, payload) VALUES ('{}', '{{}}')", "no topic!"));
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const auto halted = t.outbox().run("run", {"--drain"});
    INFO(halted.errors);
    CHECK(halted.status == 4);
    CHECK(t.count(fmt::format("processed_at IS NULL AND attempts = {} AND error LIKE 'topic: %'", attempt)) == 1);
  }
  CHECK(t.count("processed_at IS NOT NULL") == 2);
  const auto fixed = t.outbox().run("run", {"--drain", "--set", "outbox.0.topic=" + t.topic()});
  INFO(fixed.errors);
  CHECK(fixed.status == 0);
  CHECK(t.count("processed_at IS NOT NULL AND attempts = 2") == 1);
}

// ---- failures of write-back -----------------------------------------------------------------------------------------

TEST_CASE("a row that another transaction has locked holds the position, not the other rows, and is marked later") {
  WrittenOutbox t(kMarked);
  t.insert(10);
  PgSession other(t.outbox().database().dsn());
  other.exec("BEGIN; UPDATE outbox SET payload = '{}' WHERE id = (SELECT id FROM outbox LIMIT 1)");
  const auto before = t.outbox().confirmed();
  RelayProcess relay(t.outbox().configuration());
  CHECK(t.wait_for("processed_at IS NOT NULL", 9));
  CHECK(t.outbox().confirmed() == before);
  other.exec("COMMIT");
  CHECK(t.wait_for("processed_at IS NOT NULL", 10));
  CHECK(t.outbox().wait_drained());
  CHECK(wait_until(seconds(5), [&] { return result_of(relay, "written") == 10; }));
  CHECK(result_of(relay, "failed") == 0);
}

TEST_CASE("a lock that lasts does not hold the position for ever: rows are given up, counted and told") {
  WrittenOutbox t(kMarked);
  t.insert(10);
  PgSession other(t.outbox().database().dsn());
  // Of the table: without an xid, which would keep others' slots from being made.
  other.exec("BEGIN; LOCK TABLE outbox IN SHARE ROW EXCLUSIVE MODE");
  RelayProcess relay(t.outbox().configuration());
  CHECK(wait_until(seconds(40), [&] { return result_of(relay, "failed") == 10; }));
  CHECK(t.outbox().wait_drained());
  CHECK_THAT(relay.log(), ContainsSubstring("write_back_failed"));
  other.exec("COMMIT");
  t.insert(1);
  CHECK(t.wait_for("processed_at IS NOT NULL", 1));
  CHECK(wait_until(seconds(5), [&] { return relay.log().find("write_back_restored") != std::string::npos; }));
}

TEST_CASE("a role that may not write to the table delivers all the same, and is told what to grant") {
  WrittenOutbox t(kMarked);
  const auto role = t.outbox().name() + "_relay";
  t.outbox().exec(fmt::format("CREATE ROLE {} LOGIN REPLICATION", role));
  const auto superuser_dsn = t.database().dsn();
  t.outbox().set_dsn(superuser_dsn + " user=" + role);
  t.insert(5);

  const auto checked = t.outbox().run("check");
  INFO(checked.output);
  CHECK(checked.status == 1);
  const auto grant = fmt::format(
      R"(GRANT SELECT ("id", "processed_at", "attempts", "error"), UPDATE ("processed_at", "attempts", "error") ON "public"."outbox" TO "{}")",
      role);
  CHECK_THAT(checked.output, ContainsSubstring("write_back.rights") && ContainsSubstring(grant));
  const auto refused = t.outbox().run("run", {"--drain"});
  INFO(refused.errors);
  CHECK(refused.status == 0);
  CHECK_THAT(refused.errors, ContainsSubstring("write_back_failed") && ContainsSubstring(grant));
  CHECK(OutboxCase::records(t.topic()).size() == 5);
  CHECK(t.count("processed_at IS NULL") == 5);

  t.outbox().exec(grant);
  CHECK_THAT(t.outbox().run("check").output, ContainsSubstring("ok      write_back.rights"));
  t.insert(5);
  PgSession other(superuser_dsn);  // what passes over locked rows needs no more rights
  other.exec(
      "BEGIN; SELECT FROM outbox WHERE id = (SELECT id FROM outbox ORDER BY occurred_at DESC LIMIT 1) FOR UPDATE");
  RelayProcess relay(t.outbox().configuration());
  CHECK(t.wait_for("processed_at IS NOT NULL", 4));
  other.exec("COMMIT");
  CHECK(t.wait_for("processed_at IS NOT NULL", 5));
  CHECK(relay.stop() == ExitStatus{143, 0});
  t.outbox().exec(fmt::format("DROP OWNED BY {0}; DROP ROLE {0}", role));
}

TEST_CASE("init grants what write-back needs when it makes the role") {
  OutboxCase outbox;
  outbox.exec(kTable);
  outbox.add_outbox("table = \"public.outbox\"\npreset = \"standard\"\n[outbox.retention]\nafter = \"ack\"");
  const auto role = outbox.name() + "_relay";
  const auto made = outbox.run("init", {"--role", role});
  INFO(made.errors);
  REQUIRE(made.status == 0);
  outbox.set_dsn(outbox.database().dsn() + " user=" + role);
  CHECK_THAT(outbox.run("check").output, ContainsSubstring("ok      write_back.rights"));
  outbox.exec(fmt::format("INSERT INTO outbox (type) VALUES ('{}')", outbox.name()));
  outbox.drain();
  CHECK(outbox.database().value("SELECT count(*) FROM outbox") == "0");
  outbox.exec(fmt::format("DROP OWNED BY {0}; DROP ROLE {0}", role));
}

TEST_CASE("a column that is dropped under a running relay stops nothing") {
  WrittenOutbox t("processed_at = \"processed_at\"");
  RelayProcess relay(t.outbox().configuration());
  REQUIRE(relay.wait_ready());
  t.insert(5);
  CHECK(t.wait_for("processed_at IS NOT NULL", 5));
  t.outbox().exec("ALTER TABLE outbox DROP processed_at");
  t.insert(5);
  CHECK(t.outbox().wait_drained());
  CHECK(wait_until(seconds(5), [&] { return result_of(relay, "failed") == 5; }));
  CHECK_THAT(relay.log(), ContainsSubstring("processed_at"));
  CHECK(OutboxCase::records(t.topic()).size() == 10);
}

TEST_CASE("a relay killed between acknowledgement and write-back marks the rows after its next start") {
  const bool recorded = GENERATE(true, false);
  CAPTURE(recorded);
  WrittenOutbox t(kMarked);
  const auto progress = t.outbox().name() + ".progress";
  t.outbox().add_settings(fmt::format("[delivery]\nprogress_topic = \"{}\"\n", recorded ? progress : ""));
  t.insert(20);
  PgSession other(t.outbox().database().dsn());
  other.exec("BEGIN; LOCK TABLE outbox IN SHARE ROW EXCLUSIVE MODE");
  {
    RelayProcess relay(t.outbox().configuration());
    CHECK(wait_until(seconds(20),
                     [&] { return relay.metric("walrelay_events_total", {{"result", "delivered"}}) == 20.0; }));
    CHECK((!recorded || wait_until(seconds(20), [&] {
      const auto records = OutboxCase::records(progress);
      return !records.empty() && parse_progress(records.back().value.value_or(""))->commit.has_value();
    })));
    relay.process().signal(SIGKILL);
  }
  other.exec("ROLLBACK");
  CHECK(t.count("processed_at IS NULL") == 20);
  t.outbox().drain();
  CHECK(t.count("processed_at IS NOT NULL") == 20);
  CHECK(OutboxCase::records(t.topic()).size() == (recorded ? 20 : 40));
}

}  // namespace walrelay::test
