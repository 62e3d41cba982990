// The outbox without a table: pg_logical_emit_message.
#include <string>
#include <string_view>

#include "tests/support/catch.h"
#include "tests/unit/router_fixture.h"

namespace walrelay::test {
namespace {

OutboxRules message_rules() {
  OutboxRules rules;
  rules.messages = "outbox";
  return rules;
}

LogicalMessage message(std::string_view content, std::string_view prefix = "outbox") {
  return {true, Lsn{1}, prefix, content};
}

TEST_CASE("message outbox: the fields become the event, the payload stays as it is written") {
  OutboxRouter router({message_rules()});
  CHECK(router.wants_messages());
  const auto routed = router.route(message(R"({"topic":"orders","key":"k\u00fc","id":"7","type":"OrderPlaced",
      "headers":{"tenant":"acme","n":1.10,"none":null},"payload": {"a" : 1.10, "a" : 12345678901234567890123} })"),
                                   kCommitTime);
  REQUIRE(routed.status == RouteStatus::event);
  const auto& event = routed.event;
  CHECK(event.topic == "orders");
  CHECK(event.key == "kü");
  CHECK(event.value == R"({"a" : 1.10, "a" : 12345678901234567890123})");
  CHECK(event.id == "7");
  CHECK(event.timestamp_ms == kCommitTimeMs);
  CHECK_FALSE(event.timestamp_replaced);
  REQUIRE(event.headers.size() == 4);
  CHECK(event.headers[0].name == "id");
  CHECK(event.headers[0].value == "7");
  CHECK(header(event, "type") == "OrderPlaced");
  CHECK(header(event, "tenant") == "acme");
  CHECK(header(event, "n") == "1.10");
}

TEST_CASE("message outbox: what is absent is NULL, a payload that is null stays null") {
  OutboxRouter router({message_rules()});
  const auto bare = router.route(message(R"({"topic":"t"})"), kCommitTime);
  REQUIRE(bare.status == RouteStatus::event);
  CHECK_FALSE(bare.event.key);
  CHECK_FALSE(bare.event.value);
  CHECK(bare.event.headers.empty());
  CHECK(router.route(message(R"({"topic":"t","payload":null})"), kCommitTime).event.value == "null");
  CHECK(router.route(message(R"({"topic":"t","payload":"text"})"), kCommitTime).event.value == "\"text\"");
  CHECK(router.route(message(R"({"topic":"t","key":""})"), kCommitTime).event.key == "");
  CHECK_FALSE(router.route(message(R"({"topic":"t","key":null})"), kCommitTime).event.key);
  CHECK(router.route(message(R"({"topic":"t","key":12345678901234567890123})"), kCommitTime).event.key ==
        "12345678901234567890123");
}

TEST_CASE("message outbox: templates stand in for what the message leaves out") {
  auto rules = message_rules();
  rules.topic = "outbox.{type|kebab}";
  rules.key = "{payload/orderId}";
  rules.headers = {{"source", "{origin}"}};
  OutboxRouter router({rules});
  const auto routed =
      router.route(message(R"({"type":"OrderPlaced","payload":{"orderId":9},"origin":"shop"})"), kCommitTime);
  REQUIRE(routed.status == RouteStatus::event);
  CHECK(routed.event.topic == "outbox.order-placed");
  CHECK(routed.event.key == "9");
  CHECK(header(routed.event, "source") == "shop");
  CHECK(header(routed.event, "type") == "OrderPlaced");
  const auto own = router.route(message(R"({"topic":"own","key":"k","type":"A"})"), kCommitTime);
  CHECK(own.event.topic == "own");
  CHECK(own.event.key == "k");
}

TEST_CASE("message outbox: the message's headers replace the mapping's, null takes one away") {
  auto rules = message_rules();
  rules.headers = {{"a", "1"}, {"b", "2"}};
  OutboxRouter router({rules});
  const auto routed = router.route(
      message(R"({"topic":"t","id":"7","headers":{"a":"own","b":null,"c":"x","c":"y","id":"z"}})"), kCommitTime);
  CHECK(header(routed.event, "a") == "own");
  CHECK(header(routed.event, "b") == "(absent)");
  CHECK(header(routed.event, "c") == "y");
  CHECK(header(routed.event, "id") == "z");
  CHECK(routed.event.headers.size() == 3);
}

TEST_CASE("message outbox: other prefixes and non-transactional messages are ignored") {
  OutboxRouter router({message_rules()});
  CHECK(router.route(message("{}", "other"), kCommitTime).ignored == IgnoreReason::other_prefix);
  CHECK(router.route(LogicalMessage{false, Lsn{1}, "outbox", R"({"topic":"t"})"}, kCommitTime).ignored ==
        IgnoreReason::not_transactional);
  OutboxRouter tables_only({plain_rules()});
  CHECK_FALSE(tables_only.wants_messages());
  CHECK(tables_only.route(message("{}"), kCommitTime).status == RouteStatus::ignored);
}

TEST_CASE("message outbox: what is no JSON object is a failure of mapping, and the next message is whole again") {
  OutboxRouter router({message_rules()});
  for (const std::string_view content :
       {"", "hello", "[]", "1", "{\"topic\":\"t\"", "{\"topic\":\"t\"}x", "\xff\xfe", "{\"topic\":t}"}) {
    CAPTURE(content);
    const auto routed = router.route(message(content), kCommitTime);
    REQUIRE(routed.status == RouteStatus::rejected);
    CHECK(routed.rejection->failure_class == FailureClass::mapping);
    CHECK_THAT(routed.rejection->reason, ContainsSubstring("[[outbox]] outbox: the message is not one JSON object"));
  }
  const auto headers = router.route(message(R"({"topic":"t","headers":["x"]})"), kCommitTime);
  REQUIRE(headers.status == RouteStatus::rejected);
  CHECK_THAT(headers.rejection->reason, ContainsSubstring("\"headers\" of the message is not a JSON object"));
  const auto no_topic = router.route(message(R"({"id":"5"})"), kCommitTime);
  REQUIRE(no_topic.status == RouteStatus::rejected);
  CHECK_THAT(no_topic.rejection->reason, ContainsSubstring("id 5: the topic is NULL"));
  CHECK(router.route(message(R"({"topic":"t"})"), kCommitTime).status == RouteStatus::event);
}

}  // namespace
}  // namespace walrelay::test
