#include "decoder/presets.h"

#include <string>
#include <vector>

#include "decoder/mapping_check.h"
#include "decoder/rule_error.h"
#include "tests/support/catch.h"
#include "tests/unit/router_fixture.h"

namespace walrelay::test {
namespace {

std::vector<ColumnInfo> named(std::initializer_list<const char*> names) {
  std::vector<ColumnInfo> columns;
  for (const auto* name : names) columns.push_back({name, "text"});
  return columns;
}

std::string proposed(std::initializer_list<const char*> names) {
  const auto* const preset = propose_preset(named(names));
  return preset ? std::string(preset->name) : "none";
}

TEST_CASE("presets: pascal") {
  OutboxRouter router({preset_rules("pascal", "public.OutboxMessages")});
  TestTable table(kTableId, "public", "OutboxMessages",
                  {{"Id"}, {"Type"}, {"Payload"}, {"OccurredAt"}, {"RetryCount"}});
  REQUIRE(router.relation(table.describe()) == RelationUse::outbox);
  const auto routed =
      router.route(table.insert({"7", "OrderPlaced", "{}", "2024-02-29 12:34:56.789+00", "0"}), kCommitTime);
  REQUIRE(routed.status == RouteStatus::event);
  CHECK(routed.event.topic == "outbox.OrderPlaced");
  CHECK(routed.event.key == "7");
  CHECK(routed.event.value == "{}");
  CHECK(routed.event.timestamp_ms == 1709210096789);
  REQUIRE(routed.event.headers.size() == 2);
  CHECK(header(routed.event, "id") == "7");
  CHECK(header(routed.event, "type") == "OrderPlaced");
}

TEST_CASE("presets: messageid takes the message's id, not the row's") {
  OutboxRouter router({preset_rules("messageid")});
  TestTable table(kTableId, "public", "outbox",
                  {{"Id", 20}, {"MessageId", 2950}, {"Type"}, {"Payload"}, {"CreatedAt", 1184}});
  (void)router.relation(table.describe());
  const auto routed = router.route(table.insert({"1", "m-7", "A", "text", "2024-02-29 12:34:56.789+00"}), kCommitTime);
  REQUIRE(routed.status == RouteStatus::event);
  CHECK(routed.event.key == "m-7");
  CHECK(header(routed.event, "id") == "m-7");
  CHECK(routed.event.value == "text");
  CHECK(routed.event.timestamp_ms == 1709210096789);
}

TEST_CASE("presets: debezium has the id header alone and the commit's time") {
  OutboxRouter router({preset_rules("debezium")});
  TestTable table(kTableId, "public", "outbox", {{"id"}, {"aggregatetype"}, {"aggregateid"}, {"type"}, {"payload"}});
  (void)router.relation(table.describe());
  const auto routed = router.route(table.insert({"7", "order", "agg-1", "OrderPlaced", "{}"}), kCommitTime);
  REQUIRE(routed.status == RouteStatus::event);
  CHECK(routed.event.topic == "outbox.event.order");
  CHECK(routed.event.key == "agg-1");
  CHECK(routed.event.value == "{}");
  CHECK(routed.event.timestamp_ms == kCommitTimeMs);
  REQUIRE(routed.event.headers.size() == 1);
  CHECK(header(routed.event, "id") == "7");
}

TEST_CASE("presets: what is configured wins, headers by name, and filling twice changes nothing") {
  OutboxRules rules;
  rules.table = "public.outbox";
  rules.preset = "standard";
  rules.key = "{payload/orderId}";
  rules.headers = {{"tenant", "{tenant}"}, {"type", "{type|kebab}"}};
  fill_from_preset(rules);
  const auto once = rules;
  fill_from_preset(rules);
  CHECK(rules.headers == once.headers);
  CHECK(rules.optional_columns == once.optional_columns);
  CHECK(rules.key == "{payload/orderId}");
  CHECK(rules.topic == "outbox.{type}");
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"type", "{type|kebab}"}, {"traceparent", "{trace_parent}"}, {"tenant", "{tenant}"}};
  CHECK(rules.headers == headers);
}

TEST_CASE("presets: a column that the user asks for is not optional") {
  OutboxRules rules;
  rules.table = "public.outbox";
  rules.preset = "standard";
  CHECK(mapping_problems(preset_rules("standard"),
                         {{{"id", "uuid"}, {"occurred_at", "timestamptz"}, {"type", "text"}, {"payload", "jsonb"}}})
            .empty());
  rules.key = "{trace_parent}";
  fill_from_preset(rules);
  CHECK(rules.optional_columns.empty());
}

TEST_CASE("presets: an unknown one names the nearest, and messages have none") {
  OutboxRules rules;
  rules.table = "public.outbox";
  rules.preset = "standart";
  CHECK_THROWS_WITH(
      fill_from_preset(rules),
      "[[outbox]] public.outbox: unknown preset \"standart\"; did you mean \"standard\"? presets are standard, pascal, "
      "messageid, debezium");
  rules = {};
  rules.messages = "outbox";
  rules.preset = "standard";
  CHECK_THROWS_AS(fill_from_preset(rules), RuleError);
}

TEST_CASE("presets: the one whose required columns a table has is proposed") {
  CHECK(proposed({"id", "occurred_at", "type", "payload"}) == "standard");
  CHECK(proposed({"payload", "type", "occurred_at", "id", "trace_parent", "whatever"}) == "standard");
  CHECK(proposed({"Id", "Type", "Payload", "OccurredAt"}) == "pascal");
  CHECK(proposed({"Id", "MessageId", "Type", "Payload", "CreatedAt"}) == "messageid");
  CHECK(proposed({"id", "aggregatetype", "aggregateid", "type", "payload", "created_at"}) == "debezium");
  CHECK(proposed({"id", "aggregatetype", "aggregateid", "type", "payload", "occurred_at"}) == "debezium");
  CHECK(proposed({"ID", "TYPE"}) == "none");
  CHECK(proposed({}) == "none");
}

TEST_CASE("presets: each fits the table that it describes") {
  for (const auto& preset : presets()) {
    CAPTURE(preset.name);
    std::vector<ColumnInfo> columns;
    for (const auto& column : preset.columns) {
      const bool is_time = column.definition.starts_with("timestamptz");
      columns.push_back({std::string(column.name), is_time ? "timestamp with time zone" : "text"});
    }
    CHECK(mapping_problems(preset_rules(std::string(preset.name)), columns).empty());
    CHECK(propose_preset(columns) == &preset);
    CHECK(find_preset(preset.name) == &preset);
  }
}

}  // namespace
}  // namespace walrelay::test
