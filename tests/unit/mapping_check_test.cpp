#include "decoder/mapping_check.h"

#include "decoder/rule_error.h"
#include "tests/support/catch.h"
#include "tests/unit/router_fixture.h"

namespace walrelay::test {
namespace {

TEST_CASE("mapping check: a missing column is named with template, table and the nearest column") {
  auto rules = plain_rules();
  rules.key = "{orderid}";
  const std::vector<ColumnInfo> columns = {{"order_id", "text"}, {"payload", "jsonb"}};
  const auto problems = mapping_problems(rules, columns);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0] == R"(key = "{orderid}": table public.outbox has no column "orderid"; did you mean "order_id"?)");
  rules.key = "{zzz}";
  CHECK_THAT(mapping_problems(rules, columns)[0], ContainsSubstring("its columns are order_id, payload"));
}

TEST_CASE("mapping check: types that cannot work are named with what can") {
  auto rules = plain_rules();
  rules.topic = "{b}";
  rules.key = "{n/x}";
  rules.timestamp = "{payload}";
  const std::vector<ColumnInfo> columns = {{"b", "bytea"}, {"n", "integer"}, {"payload", "jsonb"}};
  const auto problems = mapping_problems(rules, columns);
  REQUIRE(problems.size() == 3);
  CHECK_THAT(problems[0], ContainsSubstring("topic = \"{b}\": column \"b\" is bytea, which cannot name a topic"));
  CHECK_THAT(problems[1], ContainsSubstring("column \"n\" is integer, and a JSON pointer needs json, jsonb or text"));
  CHECK_THAT(problems[2],
             ContainsSubstring("column \"payload\" is jsonb; use a timestamptz, timestamp, date or bigint"));
}

TEST_CASE("mapping check: each type of time fits, and so does a time in JSON") {
  auto rules = plain_rules();
  rules.timestamp = "{at}";
  for (const char* type :
       {"timestamp with time zone", "timestamp without time zone", "date", "bigint", "timestamptz"}) {
    CHECK(mapping_problems(rules, std::vector<ColumnInfo>{{"at", type}, {"payload", "json"}}).empty());
  }
  rules.timestamp = "{payload/at}";
  CHECK(mapping_problems(rules, std::vector<ColumnInfo>{{"payload", "json"}}).empty());
}

TEST_CASE("mapping check: the id is reported once though its header repeats it") {
  auto rules = plain_rules();
  rules.id = "{missing}";
  CHECK(mapping_problems(rules, std::vector<ColumnInfo>{{"payload", "json"}}).size() == 1);
}

TEST_CASE("mapping check: the mapped columns come once each, in the order of use") {
  const auto columns = mapped_columns(preset_rules("standard"));
  CHECK(columns == std::vector<std::string>{"id", "type", "payload", "occurred_at", "trace_parent"});
  CHECK(mapped_columns(plain_rules()) == std::vector<std::string>{"payload"});
}

TEST_CASE("mapping check: messages have no columns to check, bad rules are still refused") {
  OutboxRules rules;
  rules.messages = "outbox";
  CHECK(mapping_problems(rules, {}).empty());
  rules.key = "{";
  CHECK_THROWS_AS(mapping_problems(rules, {}), RuleError);
}

}  // namespace
}  // namespace walrelay::test
