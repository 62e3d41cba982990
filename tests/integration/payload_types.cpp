// What a column's type and content become: docs/presets.md, "Types" and "Templates".

#include <fmt/format.h>

#include "tests/support/catch.h"
#include "tests/support/outbox_case.h"

namespace walrelay::test {
namespace {

// public.outbox (n, payload); the topic is the case's name.
class PayloadOutbox : public OutboxCase {
 public:
  explicit PayloadOutbox(const std::string& payload_type) {
    exec("CREATE TABLE outbox (n integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload " + payload_type + ")");
    add_outbox(fmt::format("table = \"public.outbox\"\ntopic = \"{}\"\nvalue = \"{{payload}}\"", name()));
    init();
  }

  void insert(const std::string& literal) { exec("INSERT INTO outbox (payload) VALUES (" + literal + ")"); }

  [[nodiscard]] std::vector<std::string> stored() {
    std::vector<std::string> texts;
    for (const auto& row : database().query("SELECT payload::text FROM outbox ORDER BY n")) {
      texts.push_back(row[0].value_or("(null)"));
    }
    return texts;
  }
  [[nodiscard]] std::vector<std::string> arrived() {
    drain();
    return values(name());
  }
};

TEST_CASE("numbers of a jsonb payload arrive as PostgreSQL shows them", "[versions]") {
  PayloadOutbox outbox("jsonb");
  outbox.insert(R"('{"n":1234567890123456789,"b":12345678901234567890123,"d":1.10,"e":0.1, "x": 1e400}')");
  CHECK(outbox.arrived() == outbox.stored());
  CHECK_THAT(outbox.stored()[0], ContainsSubstring("1.10"));
}

TEST_CASE("a json payload keeps its spaces, line breaks, order and duplicate keys") {
  PayloadOutbox outbox("json");
  const std::string text = "{ \"b\" : 1,\n\t\"a\":12345678901234567890123 , \"a\": 1.10, \"\":\"\\u00e9\" }";
  outbox.insert("'" + text + "'");
  CHECK(outbox.arrived() == std::vector<std::string>{text});
}

TEST_CASE("every shape of JSON is published unchanged") {
  const auto type = GENERATE(as<std::string>{}, "json", "jsonb");
  CAPTURE(type);
  PayloadOutbox outbox(type);
  for (const auto* json :
       {R"({"a":[]})", R"({"a":[[],[1]]})", R"({"a":[1,2.5,"x",null]})", R"({"a":null})", "[]", R"("text")", "{}",
        R"({"a.b":1})", R"({"":1})", R"("🚚 é \\ \" / \n")", "true", "0", "-1.50"})
    outbox.insert(fmt::format("'{}'", json));
  outbox.insert(fmt::format("'{}1{}'", std::string(64, '['), std::string(64, ']')));
  CHECK(outbox.arrived() == outbox.stored());
}

TEST_CASE("JSON's null is the value null, and SQL's NULL is a tombstone") {
  PayloadOutbox outbox("jsonb");
  outbox.insert("'null'");
  outbox.insert("NULL");
  outbox.drain();
  const auto records = OutboxCase::records(outbox.name());
  REQUIRE(records.size() == 2);
  CHECK(records[0].value == "null");
  CHECK_FALSE(records[1].value);
}

TEST_CASE("text and varchar payloads arrive byte for byte, empty ones too") {
  const auto type = GENERATE(as<std::string>{}, "text", "varchar(40)", "xml");
  CAPTURE(type);
  PayloadOutbox outbox(type);
  outbox.insert("'<a>not JSON: grün 🚚</a>'");
  outbox.insert("E'<b>\\n\\t\\\\ \\' \"</b> '");
  if (type != "xml") outbox.insert("''");
  CHECK(outbox.arrived() == outbox.stored());
}

TEST_CASE("a bytea payload arrives as its bytes", "[versions]") {
  PayloadOutbox outbox("bytea");
  outbox.insert(R"('\x00ff0a5c27e282ac')");
  outbox.insert("''");
  CHECK(outbox.arrived() == std::vector<std::string>{std::string("\0\xff\n\\'\xe2\x82\xac", 8), ""});
}

TEST_CASE("other types arrive as their text", "[versions]") {
  OutboxCase outbox;
  outbox.exec("CREATE TYPE mood AS ENUM ('glad', 'so so'); CREATE DOMAIN short AS varchar(9) CHECK (VALUE <> '')");
  outbox.exec(
      "CREATE TABLE outbox (u uuid, n numeric, a integer[], t timestamptz, d double precision, m mood, b boolean, "
      "s short, c char(5))");
  std::string headers;
  for (const char column : std::string("unatdmbsc")) headers += fmt::format("{0} = \"{{{0}}}\", ", column);
  headers.resize(headers.size() - 2);
  outbox.add_outbox(fmt::format("table = \"public.outbox\"\ntopic = \"{}\"\nvalue = \"{{u}}\"\nheaders = {{ {} }}",
                                outbox.name(), headers));
  outbox.init();
  outbox.exec(
      "INSERT INTO outbox VALUES ('354AFE16-939a-4ea8-8e17-8bb0840b6886', 1.10, '{1,NULL,3}', '2024-02-29 "
      "12:00:00.5+05:30', 0.1, 'so so', true, 'ab', 'x')");
  outbox.drain();
  const auto records = OutboxCase::records(outbox.name());
  REQUIRE(records.size() == 1);
  outbox.exec("SET timezone = 'UTC'");
  const auto stored = outbox.database().query(
      "SELECT u::text, n::text, a::text, t::text, d::text, m::text, b::text, s::text, c FROM outbox");
  CHECK(records[0].value == stored[0][0]);
  for (std::size_t i = 0; i < records[0].headers.size(); ++i) {
    CAPTURE(records[0].headers[i].first);
    if (records[0].headers[i].first == "b") continue;  // the output function says "t", the cast "true"
    CHECK(records[0].headers[i].second == stored[0][i]);
  }
  CHECK(records[0].header("b") == "t");
  CHECK(records[0].headers.size() == 9);
}

TEST_CASE("a mapping of its own takes templates, filters and JSON pointers") {
  OutboxCase outbox;
  outbox.exec(
      "CREATE SCHEMA sales; CREATE TABLE sales.events (event_id bigint PRIMARY KEY, event_type text, tenant text, "
      "body jsonb, created timestamp)");
  outbox.add_outbox(fmt::format(R"(table = "sales.events"
id = "{{event_id}}"
topic = "{}.{{body/kind|snake}}"
key = "{{tenant}}:{{body/order/id}}"
value = "{{body/order}}"
timestamp = "{{created}}"
headers = {{ type = "{{event_type|kebab}}", first = "{{body/items/0/sku}}", none = "{{body/missing}}", odd = "{{body/a~1b/~0}}", braces = "{{{{x}}}}", empty = "{{tenant|upper}}-" }}
id_header = "event-id")",
                                outbox.name()));
  outbox.init();
  outbox.exec(
      R"(INSERT INTO sales.events VALUES (7, 'OrderPlaced', NULL, '{"kind": "NewOrder", "order": {"id": 12345678901234567890, "by": "Zoë"},
      "items": [{"sku": "A \"1\""}], "a/b": {"~": 1.10}}', '2024-02-29 12:00:00.123456'))");
  outbox.drain();
  const auto records = OutboxCase::records(outbox.name() + ".new_order");
  REQUIRE(records.size() == 1);
  const auto& record = records[0];
  CHECK(record.key == ":12345678901234567890");
  CHECK(record.value == R"({"by": "Zoë", "id": 12345678901234567890})");
  CHECK(record.timestamp_ms == 1'709'208'000'123);
  CHECK(record.header("event-id") == "7");
  CHECK(record.header("type") == "order-placed");
  CHECK(record.header("first") == "A \"1\"");
  CHECK(record.header("odd") == "1.10");
  CHECK(record.header("braces") == "{x}");
  CHECK(record.header("empty") == "-");
  CHECK(record.headers.size() == 6);  // `none` is left out, and so is `id`
}

}  // namespace
}  // namespace walrelay::test
