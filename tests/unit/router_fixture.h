#pragma once
// A router with one outbox, and rows for it as a server would send them.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decoder/outbox_router.h"
#include "decoder/presets.h"
#include "decoder/rule_error.h"
#include "tests/support/catch.h"

namespace walrelay::test {

inline constexpr RelationId kTableId = 16384;
inline constexpr std::int64_t kCommitTime = 1'000'000;          // 2000-01-01 00:00:01
inline constexpr std::int64_t kCommitTimeMs = 946'684'801'000;  // the same since 1970
inline constexpr std::uint32_t kTextType = 25;
inline constexpr std::uint32_t kByteaType = 17;
inline constexpr auto kNull = std::nullopt;

struct TestColumn {
  std::string_view name;
  std::uint32_t type_id = kTextType;
};

class TestTable {
 public:
  TestTable(RelationId id, std::string schema, std::string name, std::initializer_list<TestColumn> columns)
      : id_(id), schema_(std::move(schema)), name_(std::move(name)) {
    for (const auto& column : columns) columns_.push_back({false, column.name, column.type_id, -1});
  }

  [[nodiscard]] RelationMessage describe() const { return {id_, schema_, name_, 'd', columns_}; }

  // Values in the order of the columns; valid until the next call.
  [[nodiscard]] InsertMessage insert(std::initializer_list<std::optional<std::string_view>> values) {
    row_.clear();
    for (const auto& value : values) {
      row_.push_back({value ? ColumnKind::text : ColumnKind::null, value.value_or(std::string_view{})});
    }
    return {id_, row_};
  }

 private:
  RelationId id_;
  std::string schema_;
  std::string name_;
  std::vector<RelationColumn> columns_;
  std::vector<ColumnValue> row_;
};

// Topic "t", value {payload}, no id: what a test adds to is all there is.
inline OutboxRules plain_rules(std::string table = "public.outbox") {
  OutboxRules rules;
  rules.table = std::move(table);
  rules.topic = "t";
  rules.value = "{payload}";
  return rules;
}

inline OutboxRules preset_rules(std::string preset, std::string table = "public.outbox") {
  OutboxRules rules;
  rules.table = std::move(table);
  rules.preset = std::move(preset);
  fill_from_preset(rules);
  return rules;
}

// One row of one table; `routed` points into it.
struct OneRow {
  OneRow(const OutboxRules& rules, std::initializer_list<TestColumn> columns,
         std::initializer_list<std::optional<std::string_view>> values)
      : router({rules}), table(kTableId, "public", "outbox", columns) {
    REQUIRE(router.relation(table.describe()) == RelationUse::outbox);
    routed = router.route(table.insert(values), kCommitTime);
  }
  OutboxRouter router;
  TestTable table;
  Routed routed;
};

inline std::string header(const OutboxEvent& event, std::string_view name) {
  for (const auto& one : event.headers) {
    if (one.name == name) return std::string(one.value.value_or("NULL"));
  }
  return "(absent)";
}

// Why a router refuses these rules.
inline std::string error_of(const OutboxRules& rules) {
  try {
    const OutboxRouter router({rules});
  } catch (const RuleError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace walrelay::test
