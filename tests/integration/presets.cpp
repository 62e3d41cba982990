// What arrives with each preset: docs/presets.md.

#include <fmt/format.h>

#include <map>

#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/outbox_case.h"
#include "tests/support/shared_servers.h"

namespace walrelay::test {
namespace {

struct PresetTable {
  std::string preset;
  std::string table;    // as the configuration names it
  std::string columns;  // of CREATE TABLE
  std::string insert;   // of one row: {0} the type, {1} the payload as SQL, {2} the row's number
  std::string key;      // template of a business key
  std::string topic;    // of the type {0}
  std::string id;       // its column, for SQL
  std::string time;     // SQL: milliseconds since 1970; "" where the commit's time counts
  std::string type;     // the header, for SQL; "NULL" if there is none
  std::string trace;    // the same
  std::string payload;
};

std::string sql_name(const PresetTable& table) { return "\"" + table.table.substr(table.table.find('.') + 1) + "\""; }

constexpr const char* kMoment =
    "(timestamptz '2024-02-29 23:59:58.9876+02' + {2} * interval '1 second' + interval '1 microsecond')";

const PresetTable kStandard{
    "standard",
    "public.outbox_messages",
    "id uuid PRIMARY KEY DEFAULT gen_random_uuid(), occurred_at timestamptz NOT NULL DEFAULT now(), type text NOT "
    "NULL, payload jsonb, trace_parent text, processed_at timestamptz, attempts integer NOT NULL DEFAULT 0, error text",
    fmt::format("(type, payload, occurred_at, trace_parent) VALUES ('{{0}}', {{1}}, {}, CASE WHEN {{2}} % 2 = 0 THEN "
                "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' END)",
                kMoment),
    "{payload/orderId}",
    "outbox.{}",
    "id",
    "floor(extract(epoch FROM occurred_at) * 1000)::bigint",
    "type",
    "trace_parent",
    "payload"};

const PresetTable kPascal{
    "pascal",
    "public.OutboxMessages",
    R"("Id" uuid PRIMARY KEY DEFAULT gen_random_uuid(), "Type" text NOT NULL, "Payload" jsonb, "OccurredAt" timestamptz
       NOT NULL DEFAULT now(), "ProcessedAt" timestamptz, "RetryCount" integer NOT NULL DEFAULT 0)",
    fmt::format(R"(("Type", "Payload", "OccurredAt") VALUES ('{{0}}', {{1}}, {}))", kMoment),
    "{Payload/orderId}",
    "outbox.{}",
    "\"Id\"",
    R"(floor(extract(epoch FROM "OccurredAt") * 1000)::bigint)",
    "\"Type\"",
    "NULL",
    "\"Payload\""};

const PresetTable kMessageId{
    "messageid",
    "public.OutboxMessages",
    R"("Id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "MessageId" uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
       "Type" text NOT NULL, "Payload" text, "CreatedAt" timestamptz NOT NULL DEFAULT now(), "ProcessedAt" timestamptz)",
    fmt::format(R"(("Type", "Payload", "CreatedAt") VALUES ('{{0}}', {{1}}, {}))", kMoment),
    "{Payload/orderId}",
    "outbox.{}",
    "\"MessageId\"",
    R"(floor(extract(epoch FROM "CreatedAt") * 1000)::bigint)",
    "\"Type\"",
    "NULL",
    "\"Payload\""};

const PresetTable kDebezium{
    "debezium",
    "public.outbox",
    "id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT "
    "NULL, type varchar(255) NOT NULL, payload jsonb",
    "(aggregatetype, aggregateid, type, payload) SELECT '{0}', p->>'orderId', 'Placed', p FROM (SELECT {1}::jsonb) "
    "AS row (p)",
    "{aggregateid}",
    "outbox.event.{}",
    "id",
    "",
    "NULL",
    "NULL",
    "payload"};

// Business transactions that write the outbox too: three orders in turn, several rows a transaction; some roll back.
void write_transactions(OutboxCase& outbox, const PresetTable& table) {
  int number = 0;
  const auto row = [&](int order) {
    const auto payload = fmt::format(R"('{{"n": {}, "orderId": "order-{}", "text": "grün 🚚"}}')", number, order);
    return fmt::format("INSERT INTO {} {};", sql_name(table),
                       fmt::format(fmt::runtime(table.insert), outbox.name(), payload, number++));
  };
  outbox.exec("CREATE TABLE orders (id integer PRIMARY KEY, state text)");
  for (int transaction = 0; transaction < 6; ++transaction) {
    const auto rows = [&](const std::vector<int>& orders) {
      std::string sql;
      for (const int order : orders) sql += row(order);
      return sql;
    };
    const auto order = fmt::format("INSERT INTO orders VALUES ({}, 'new');", transaction);
    outbox.exec("BEGIN;" + order + rows({0, 1, 0, 2}) + "COMMIT");
    outbox.exec("BEGIN; UPDATE orders SET state = 'paid';" + rows({0, 1}) + "ROLLBACK");
    outbox.exec("BEGIN; SAVEPOINT s;" + rows({2}) + "ROLLBACK TO s;" + rows({2, 1}) + "COMMIT");
  }
}

using RecordsByKey = std::map<std::string, std::vector<std::string>>;

std::string line(const std::string& id, const std::string& value, const std::string& headers,
                 const std::string& milliseconds) {
  return fmt::format("{} {} [{}] {}", id, value, headers, milliseconds);
}

RecordsByKey committed(OutboxCase& outbox, const PresetTable& table) {
  RecordsByKey expected;
  for (const auto& row : outbox.database().query(fmt::format(
           "SELECT {0}, {1}::text, {2}, {3}, {4}, {1}::jsonb->>'orderId' FROM {5} ORDER BY ({1}::jsonb->>'n')::int",
           table.id, table.payload, table.type, table.trace, table.time.empty() ? "''" : table.time,
           sql_name(table)))) {
    std::string headers = "id=" + row[0].value();
    if (row[2]) headers += " type=" + *row[2];
    if (row[3]) headers += " traceparent=" + *row[3];
    expected[row[5].value()].push_back(line(row[0].value(), row[1].value(), headers, row[4].value()));
  }
  return expected;
}

RecordsByKey arrived(const std::vector<TopicRecord>& records, bool with_time) {
  RecordsByKey found;
  for (const auto& record : records) {
    std::string headers;
    for (const auto& [name, value] : record.headers) {
      headers += fmt::format("{}{}={}", headers.empty() ? "" : " ", name, value.value_or("(null)"));
    }
    found[record.key.value_or("(null)")].push_back(line(record.header("id").value_or(""),
                                                        record.value.value_or("(null)"), headers,
                                                        with_time ? std::to_string(record.timestamp_ms) : ""));
  }
  return found;
}

// The wall clock in milliseconds, from the server.
std::int64_t server_time(OutboxCase& outbox) {
  return std::stoll(outbox.database().value("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"));
}

void check_preset(const PresetTable& table) {
  OutboxCase outbox;
  outbox.exec(fmt::format("CREATE TABLE {} ({})", sql_name(table), table.columns));
  outbox.add_outbox(fmt::format("table = \"{}\"\npreset = \"{}\"\nkey = \"{}\"", table.table, table.preset, table.key));
  outbox.init();
  const auto topic = fmt::format(fmt::runtime(table.topic), outbox.name());
  create_topic(shared_kafka(), topic, 4);

  const auto before = server_time(outbox);
  write_transactions(outbox, table);
  const auto after = server_time(outbox);
  outbox.drain();

  const auto records = OutboxCase::records(topic);
  CHECK(records.size() == 36);
  CHECK(arrived(records, !table.time.empty()) == committed(outbox, table));
  if (!table.time.empty()) return;
  for (const auto& record : records) {
    CHECK(record.timestamp_ms >= before);
    CHECK(record.timestamp_ms <= after);
  }
}

TEST_CASE("preset standard: each committed row arrives once, in its key's order, with payload, headers and time",
          "[versions]") {
  check_preset(kStandard);
}

TEST_CASE("preset pascal: each committed row arrives once, in its key's order, with payload, headers and time") {
  check_preset(kPascal);
}

TEST_CASE("preset messageid: each committed row arrives once, in its key's order, with payload, headers and time") {
  check_preset(kMessageId);
}

TEST_CASE("preset debezium: each committed row arrives once, in its key's order, with payload, id and commit time",
          "[versions]") {
  check_preset(kDebezium);
}

TEST_CASE("the presets' keys are the message's id, or Debezium's aggregate") {
  for (const auto& table : {kStandard, kPascal, kMessageId, kDebezium}) {
    INFO(table.preset);
    OutboxCase outbox;
    outbox.exec(fmt::format("CREATE TABLE {} ({})", sql_name(table), table.columns));
    outbox.add_outbox(fmt::format("table = \"{}\"\npreset = \"{}\"", table.table, table.preset));
    outbox.init();
    outbox.exec(fmt::format("INSERT INTO {} {}", sql_name(table),
                            fmt::format(fmt::runtime(table.insert), outbox.name(), R"('{"orderId": "o 1"}')", 1)));
    outbox.drain();
    const auto records = OutboxCase::records(fmt::format(fmt::runtime(table.topic), outbox.name()));
    REQUIRE(records.size() == 1);
    const auto id = outbox.database().value(fmt::format("SELECT {} FROM {}", table.id, sql_name(table)));
    CHECK(records[0].key == (table.preset == "debezium" ? "o 1" : id));
    CHECK(records[0].header("id") == id);
  }
}

}  // namespace
}  // namespace walrelay::test
