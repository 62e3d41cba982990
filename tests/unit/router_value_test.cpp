// How the values of a row become an event.
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "tests/support/catch.h"
#include "tests/unit/router_fixture.h"

namespace walrelay::test {
namespace {

TEST_CASE("router: a standard row becomes topic, key, value, headers and time") {
  const OneRow row(preset_rules("standard"), {{"id"}, {"occurred_at"}, {"type"}, {"payload"}, {"trace_parent"}},
                   {"42", "2024-02-29 12:34:56.789123+00", "OrderPlaced", R"({"n": 1.10})", "00-ab-cd-01"});
  const auto& event = row.routed.event;
  REQUIRE(row.routed.status == RouteStatus::event);
  CHECK(event.topic == "outbox.OrderPlaced");
  CHECK(event.key == "42");
  CHECK(event.value == R"({"n": 1.10})");
  CHECK(event.id == "42");
  CHECK(event.timestamp_ms == 1709210096789);
  CHECK_FALSE(event.timestamp_replaced);
  REQUIRE(event.headers.size() == 3);
  CHECK(event.headers[0].name == "id");
  CHECK(event.headers[0].value == "42");
  CHECK(event.headers[1].name == "type");
  CHECK(event.headers[1].value == "OrderPlaced");
  CHECK(event.headers[2].name == "traceparent");
  CHECK(event.headers[2].value == "00-ab-cd-01");
}

TEST_CASE("router: payloads are the row's bytes, untouched and not copied (cases A16, A17)") {
  const std::string payload =
      GENERATE(R"({"b": 12345678901234567890123, "d": 1.10, "e": 0.1, "n": 1234567890123456789})",
               R"({ "a":1,  "a":2 })", R"({"a":[]})", R"({"a":[[],[1]]})", R"({"a":[1,2.5,"x",null]})", R"({"a":null})",
               "[]", "\"text\"", "null", "{}", R"({"a.b":1,"":"😀"})", "", "no JSON at all");
  OutboxRouter router({plain_rules()});
  TestTable table(kTableId, "public", "outbox", {{"payload", 3802}});
  (void)router.relation(table.describe());
  const auto routed = router.route(table.insert({payload}), kCommitTime);
  REQUIRE(routed.status == RouteStatus::event);
  CHECK(routed.event.value == payload);
  CHECK(routed.event.value->data() == payload.data());
}

TEST_CASE("router: SQL NULL is a tombstone, JSON null is not (case A17)") {
  CHECK_FALSE(OneRow(plain_rules(), {{"payload", 3802}}, {kNull}).routed.event.value);
  CHECK(OneRow(plain_rules(), {{"payload", 3802}}, {"null"}).routed.event.value == "null");
}

TEST_CASE("router: an empty key is a key, a NULL key is none (case A23)") {
  auto rules = plain_rules();
  rules.key = "{k}";
  CHECK(OneRow(rules, {{"k"}, {"payload"}}, {"", "x"}).routed.event.key == "");
  CHECK_FALSE(OneRow(rules, {{"k"}, {"payload"}}, {kNull, "x"}).routed.event.key);
  CHECK(OneRow(rules, {{"k"}, {"payload"}}, {"ü", "x"}).routed.event.key == "ü");
  rules.key = "{k}-{k}";
  CHECK(OneRow(rules, {{"k"}, {"payload"}}, {kNull, "x"}).routed.event.key == "-");
  rules.key = "{payload/orderId}";
  CHECK(OneRow(rules, {{"payload"}}, {R"({"orderId":7})"}).routed.event.key == "7");
  CHECK_FALSE(OneRow(rules, {{"payload"}}, {R"({"orderId":null})"}).routed.event.key);
}

TEST_CASE("router: an empty template takes away what a preset gives") {
  OutboxRules rules;
  rules.table = "public.outbox";
  rules.preset = "standard";
  rules.key = "";
  rules.id = "";
  rules.timestamp = "";
  rules.headers = {{"type", ""}};
  fill_from_preset(rules);
  const OneRow row(rules, {{"type"}, {"payload"}}, {"A", "x"});
  REQUIRE(row.routed.status == RouteStatus::event);
  CHECK_FALSE(row.routed.event.key);
  CHECK(row.routed.event.id.empty());
  CHECK(row.routed.event.headers.empty());
  CHECK(row.routed.event.timestamp_ms == kCommitTimeMs);
  CHECK_FALSE(row.routed.event.timestamp_replaced);
}

TEST_CASE("router: bytea values, keys and headers are the bytes, the id and longer templates PostgreSQL's text") {
  auto rules = plain_rules();
  rules.key = "{payload}";
  rules.id = "{payload}";
  rules.headers = {{"raw", "{payload}"}, {"text", "x{payload}"}};
  const OneRow row(rules, {{"payload", kByteaType}}, {"\\x00fF41"});
  const auto bytes = std::string("\x00\xff\x41", 3);
  CHECK(row.routed.event.value == bytes);
  CHECK(row.routed.event.key == bytes);
  CHECK(row.routed.event.id == "\\x00fF41");
  CHECK(header(row.routed.event, "id") == "\\x00fF41");
  CHECK(header(row.routed.event, "raw") == bytes);
  CHECK(header(row.routed.event, "text") == "x\\x00fF41");
  CHECK(OneRow(plain_rules(), {{"payload", kByteaType}}, {"\\x"}).routed.event.value == "");
  CHECK_FALSE(OneRow(plain_rules(), {{"payload", kByteaType}}, {kNull}).routed.event.value);
  CHECK(OneRow(plain_rules(), {{"payload", kTextType}}, {"\\x41"}).routed.event.value == "\\x41");
}

TEST_CASE("router: a bytea that is not hexadecimal is a failure of encoding") {
  for (const std::string_view text : {"", "abc", "\\x4", "\\xgg", "\\001", "x41"}) {
    CAPTURE(text);
    const OneRow row(plain_rules(), {{"payload", kByteaType}}, {text});
    REQUIRE(row.routed.status == RouteStatus::rejected);
    CHECK(row.routed.rejection->failure_class == FailureClass::encoding);
    CHECK_THAT(row.routed.rejection->reason, ContainsSubstring("bytea_output"));
  }
}

TEST_CASE("router: a time that is NULL, infinite or out of range is replaced by the commit's") {
  auto rules = plain_rules();
  rules.timestamp = "{at}";
  for (const std::optional<std::string_view> text : {std::optional<std::string_view>{},
                                                     {"infinity"},
                                                     {"-infinity"},
                                                     {"0044-03-15 BC"},
                                                     {"1969-01-01"},
                                                     {"0"},
                                                     {"junk"}}) {
    CAPTURE(text.value_or("NULL"));
    const OneRow row(rules, {{"at"}, {"payload"}}, {text, "x"});
    REQUIRE(row.routed.status == RouteStatus::event);
    CHECK(row.routed.event.timestamp_ms == kCommitTimeMs);
    CHECK(row.routed.event.timestamp_replaced);
  }
  const OneRow good(rules, {{"at", 20}, {"payload"}}, {"1709210096789", "x"});
  CHECK(good.routed.event.timestamp_ms == 1709210096789);
  CHECK_FALSE(good.routed.event.timestamp_replaced);
}

TEST_CASE("router: headers whose lone reference is NULL are left out, others are sent") {
  auto rules = plain_rules();
  rules.headers = {{"a", "{h}"}, {"b", "x{h}"}, {"c", "constant"}, {"d", "{payload/x}"}};
  const OneRow row(rules, {{"h"}, {"payload"}}, {kNull, "{}"});
  CHECK(header(row.routed.event, "a") == "(absent)");
  CHECK(header(row.routed.event, "b") == "x");
  CHECK(header(row.routed.event, "c") == "constant");
  CHECK(header(row.routed.event, "d") == "(absent)");
}

TEST_CASE("router: the id header is first, can be renamed, dropped and replaced") {
  auto rules = plain_rules();
  rules.id = "{id}";
  rules.headers = {{"h", "1"}};
  CHECK(OneRow(rules, {{"id"}, {"payload"}}, {"7", "x"}).routed.event.headers.front().name == "id");
  CHECK(header(OneRow(rules, {{"id"}, {"payload"}}, {kNull, "x"}).routed.event, "id") == "(absent)");
  rules.id_header = "message-id";
  CHECK(header(OneRow(rules, {{"id"}, {"payload"}}, {"7", "x"}).routed.event, "message-id") == "7");
  rules.headers.emplace_back("message-id", "own-{id}");
  const OneRow replaced(rules, {{"id"}, {"payload"}}, {"7", "x"});
  REQUIRE(replaced.routed.event.headers.size() == 2);
  CHECK(replaced.routed.event.headers[0].name == "message-id");
  CHECK(replaced.routed.event.headers[0].value == "own-7");
  CHECK(replaced.routed.event.id == "7");
  rules.headers.clear();
  rules.id_header = "";
  CHECK(OneRow(rules, {{"id"}, {"payload"}}, {"7", "x"}).routed.event.headers.empty());
}

TEST_CASE("router: a NULL topic is a failure of mapping that names outbox and id") {
  auto rules = plain_rules();
  rules.id = "{id}";
  rules.topic = "{t}";
  const OneRow row(rules, {{"id"}, {"t"}, {"payload"}}, {"7", kNull, "x"});
  REQUIRE(row.routed.status == RouteStatus::rejected);
  CHECK(row.routed.rejection->failure_class == FailureClass::mapping);
  CHECK(row.routed.rejection->reason ==
        "[[outbox]] public.outbox, id 7: the topic is NULL; give the row a topic, or change the template of topic");
}

TEST_CASE("router: a topic name that Kafka forbids is a failure of topic, the rest of the event is there") {
  auto rules = plain_rules();
  rules.topic = "{t}";
  rules.key = "k";
  for (const auto& name : {std::string(), std::string("."), std::string(".."), std::string("a b"),
                           std::string("bestellung.ü"), std::string("a/b"), std::string(250, 'x')}) {
    CAPTURE(name);
    const OneRow row(rules, {{"t"}, {"payload"}}, {name, "x"});
    REQUIRE(row.routed.status == RouteStatus::rejected);
    CHECK(row.routed.rejection->failure_class == FailureClass::topic);
    CHECK(row.routed.event.topic == name);
    CHECK(row.routed.event.value == "x");
    CHECK(row.routed.event.key == "k");
  }
  for (const auto& name : {std::string("..."), std::string("A-z_0.9"), std::string(249, 'x')}) {
    CHECK(OneRow(rules, {{"t"}, {"payload"}}, {name, "x"}).routed.status == RouteStatus::event);
  }
}

// The reason goes into a text column (write-back) and a header, and the server refuses half a character.
TEST_CASE("router: a reason quotes a long value up to a whole character") {
  auto rules = plain_rules();
  rules.topic = "{t}";
  std::string name = "x";
  for (int i = 0; i < 200; ++i) name += "ü";
  const OneRow row(rules, {{"t"}, {"payload"}}, {name, "x"});
  REQUIRE(row.routed.status == RouteStatus::rejected);
  CHECK_THAT(row.routed.rejection->reason, ContainsSubstring("üü\""));
}

TEST_CASE("the id in a sink's reason is shortened like the router's") {
  Rejection rejection{FailureClass::too_large, "too large"};
  name_event(rejection, std::string(1'000'000, 'x'));
  CHECK(rejection.reason == "id " + std::string(300, 'x') + ": too large");
}

TEST_CASE("router: a row that stands where the last one stood is read anew") {
  auto rules = plain_rules();
  rules.key = "{payload/a}";
  OutboxRouter router({rules});
  TestTable table(kTableId, "public", "outbox", {{"payload"}});
  (void)router.relation(table.describe());
  std::string buffer = R"({"a":1})";
  CHECK(router.route(table.insert({buffer}), kCommitTime).event.key == "1");
  buffer[5] = '2';
  CHECK(router.route(table.insert({buffer}), kCommitTime).event.key == "2");
}

TEST_CASE("router: text that should be JSON and is not is a failure of mapping that names the column") {
  auto rules = plain_rules();
  rules.key = "{payload/orderId}";
  const OneRow row(rules, {{"payload"}}, {"<xml/>"});
  REQUIRE(row.routed.status == RouteStatus::rejected);
  CHECK(row.routed.rejection->failure_class == FailureClass::mapping);
  CHECK_THAT(row.routed.rejection->reason, ContainsSubstring("key: column \"payload\" does not hold valid JSON"));
  CHECK(row.routed.event.value == "<xml/>");
}

TEST_CASE("router: unchanged TOAST, binary values and short rows are failures, not crashes") {
  OutboxRouter router({plain_rules()});
  TestTable table(kTableId, "public", "outbox", {{"id"}, {"payload"}});
  (void)router.relation(table.describe());
  const ColumnValue id{ColumnKind::text, "1"};
  for (const auto kind : {ColumnKind::unchanged_toast, ColumnKind::binary}) {
    const std::array row = {id, ColumnValue{kind, {}}};
    const auto routed = router.route(InsertMessage{kTableId, row}, kCommitTime);
    REQUIRE(routed.status == RouteStatus::rejected);
    CHECK(routed.rejection->failure_class == FailureClass::mapping);
  }
  const auto routed = router.route(InsertMessage{kTableId, std::span(&id, 1)}, kCommitTime);
  REQUIRE(routed.status == RouteStatus::rejected);
  CHECK_THAT(routed.rejection->reason, ContainsSubstring("the row has 1 columns, but the server described 2"));
}

TEST_CASE("router: rules that cannot work are refused at once, with the remedy") {
  CHECK(error_of(plain_rules()) == "no error");
  auto rules = plain_rules();
  rules.topic.reset();
  CHECK(error_of(rules) == "[[outbox]] public.outbox: topic is not set; set it, or choose a preset");
  rules = plain_rules();
  rules.value = "";
  CHECK(error_of(rules) == "[[outbox]] public.outbox: value is not set; set it, or choose a preset");
  CHECK_THAT(error_of(plain_rules("outbox")), ContainsSubstring("named with its schema, e.g. \"public.outbox\""));
  CHECK_THAT(error_of(plain_rules("public.")), ContainsSubstring("named with its schema"));
  rules = plain_rules();
  rules.messages = "outbox";
  CHECK_THAT(error_of(rules), ContainsSubstring("set either table"));
  for (const std::string_view timestamp : {"now", "{a}{b}", "{a|lower}"}) {
    rules = plain_rules();
    rules.timestamp = timestamp;
    CHECK_THAT(error_of(rules), ContainsSubstring("timestamp must be one reference without filters"));
  }
  rules = plain_rules();
  rules.headers = {{"", "x"}};
  CHECK_THAT(error_of(rules), ContainsSubstring("a header has the name \"\""));
  rules.headers = {{"h", "{x|lover}"}};
  CHECK_THAT(error_of(rules),
             ContainsSubstring("[[outbox]] public.outbox, header \"h\": template \"{x|lover}\", position 4"));
  CHECK_THROWS_AS(OutboxRouter({plain_rules(), plain_rules()}), RuleError);
}

}  // namespace
}  // namespace walrelay::test
