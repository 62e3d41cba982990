// Which rows of a table are read, in which order.

#include "connector/postgres/row_query.h"

#include "decoder/presets.h"
#include "decoder/rule_error.h"
#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

const RowTable kStandardTable{{{"id", "uuid", 2950},
                               {"occurred_at", "timestamp with time zone", 1184},
                               {"type", "text", 25},
                               {"payload", "jsonb", 3802},
                               {"processed_at", "timestamp with time zone", 1184},
                               {"unmapped", "text", 25}},
                              {"id"}};

OutboxRules rules_of(const std::string& preset) {
  OutboxRules rules;
  rules.table = "public.outbox";
  rules.preset = preset;
  fill_from_preset(rules);
  return rules;
}

std::string refusal(const OutboxRules& rules, const RowTable& table, const RowFilter& filter) {
  try {
    static_cast<void>(make_row_query(rules, table, filter));
  } catch (const RuleError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("rows are read by the time column and then by the primary key, and only the mapped columns") {
  const auto query = make_row_query(rules_of("standard"), kStandardTable, {});
  CHECK(query.select ==
        R"(SELECT "id", "type", "payload", "occurred_at" FROM "public"."outbox" ORDER BY "occurred_at", ctid)");
  CHECK(query.count == R"(SELECT count(*) AS count FROM "public"."outbox")");
  REQUIRE(query.columns.size() == 4);
  CHECK(query.columns[2].type_id == 3802);
}

TEST_CASE("a primary key that is not the id decides between rows of one time") {
  const RowTable table{{{"Id", "bigint", 20},
                        {"MessageId", "uuid", 2950},
                        {"Type", "text", 25},
                        {"Payload", "text", 25},
                        {"CreatedAt", "timestamp with time zone", 1184}},
                       {"Id"}};
  CHECK_THAT(make_row_query(rules_of("messageid"), table, {}).select,
             ContainsSubstring(R"(ORDER BY "CreatedAt", "Id", ctid)"));
}

TEST_CASE("each filter becomes a condition with its values quoted") {
  auto rules = rules_of("standard");
  rules.processed_at = "processed_at";
  RowFilter filter;
  CHECK(filter.everything());
  filter.unprocessed = true;
  filter.ids = {"a'b", "c"};
  filter.type = "Or'der";
  filter.since_ms = 1000;
  filter.before_ms = 2500;
  CHECK_FALSE(filter.everything());
  CHECK_THAT(make_row_query(rules, kStandardTable, filter).count,
             ContainsSubstring(R"( WHERE "processed_at" IS NULL AND "id" = ANY (ARRAY['a''b', 'c']::uuid[]) AND )"
                               R"("type"::text = 'Or''der' AND "occurred_at" >= to_timestamp(1000 / 1000.0) AND )"
                               R"("occurred_at" < to_timestamp(2500 / 1000.0))"));
}

TEST_CASE("a moment is compared in the type of the time column") {
  auto table = kStandardTable;
  const auto condition = [&](const std::string& type) {
    table.columns[1].type_name = type;
    RowFilter filter;
    filter.since_ms = 1000;
    const auto text = make_row_query(rules_of("standard"), table, filter).count;
    return text.substr(text.find(">= ") + 3);
  };
  CHECK(condition("bigint") == "1000");
  CHECK(condition("timestamp without time zone") == "(to_timestamp(1000 / 1000.0) AT TIME ZONE 'UTC')");
  CHECK(condition("date") == "(to_timestamp(1000 / 1000.0) AT TIME ZONE 'UTC')::date");
}

TEST_CASE("a filter that the mapping has no column for is refused with what to write") {
  RowFilter unprocessed;
  unprocessed.unprocessed = true;
  CHECK_THAT(refusal(rules_of("standard"), kStandardTable, unprocessed),
             ContainsSubstring("processed_at = \"processed_at\" in the [[outbox]]"));
  auto bare = kStandardTable;
  bare.columns.erase(bare.columns.begin() + 4);
  CHECK_THAT(refusal(rules_of("standard"), bare, unprocessed), ContainsSubstring("choose all or since=TIME"));

  const RowTable debezium{{{"id", "uuid", 2950},
                           {"aggregatetype", "text", 25},
                           {"aggregateid", "text", 25},
                           {"type", "text", 25},
                           {"payload", "jsonb", 3802}},
                          {"id"}};
  RowFilter since;
  since.since_ms = 1;
  CHECK_THAT(refusal(rules_of("debezium"), debezium, since), ContainsSubstring("timestamp is not one column"));

  RowFilter ids;
  ids.ids = {"1"};
  auto rules = rules_of("standard");
  rules.id = "{type}-{id}";
  CHECK_THAT(refusal(rules, kStandardTable, ids), ContainsSubstring("the id is not one column"));
}

TEST_CASE("a type is the header of that name, or else a column of that name") {
  RowFilter filter;
  filter.type = "X";
  auto rules = rules_of("standard");
  rules.headers = {{"type", "{unmapped}"}};
  CHECK_THAT(make_row_query(rules, kStandardTable, filter).count, ContainsSubstring(R"("unmapped"::text = 'X')"));
  rules.headers = {{"type", "{type|lower}"}};
  CHECK_THAT(make_row_query(rules, kStandardTable, filter).count, ContainsSubstring(R"("type"::text = 'X')"));
}

}  // namespace
}  // namespace walrelay::test
