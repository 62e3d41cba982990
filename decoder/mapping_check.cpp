#include "decoder/mapping_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "decoder/nearest_name.h"
#include "decoder/outbox_mapping.h"
#include "decoder/rule_error.h"

namespace walrelay {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kTimeTypes = {"timestamp with time zone"sv,
                                   "timestamp without time zone"sv,
                                   "date"sv,
                                   "bigint"sv,
                                   "timestamptz"sv,
                                   "timestamp"sv,
                                   "int8"sv};
constexpr std::array kCountTypes = {"smallint"sv, "integer"sv, "bigint"sv, "numeric"sv};
constexpr std::array kJsonTypes = {"json"sv,      "jsonb"sv,   "text"sv,  "character varying"sv,
                                   "character"sv, "varchar"sv, "bpchar"sv};

template <std::size_t size>
bool contains(const std::array<std::string_view, size>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class MappingChecker {
 public:
  MappingChecker(const OutboxMapping& mapping, std::span<const ColumnInfo> columns)
      : mapping_(mapping), columns_(columns) {}

  std::vector<std::string> problems() {
    for (const auto& part : mapping_.parts) {
      if (part.repeats == Repeats::nothing) check(part);
    }
    return std::move(problems_);
  }

  std::vector<std::string> write_back_problems(const OutboxRules& rules) {
    if (!rules.writes_back()) return {};
    const auto* id = find(row_id_column(rules));
    if (id && id->type_name == "bytea") {
      problems_.push_back(fmt::format(
          "id: column \"{}\" is bytea, by which write-back cannot find rows; leave out processed_at, attempts, "
          "error and retention.after",
          id->name));
    }
    check("processed_at", rules.processed_at, kTimeTypes,
          "a timestamptz, timestamp, date or bigint (epoch milliseconds)");
    check("attempts", rules.attempts, kCountTypes, "an integer");
    check("error", rules.error, kJsonTypes, "a text or json");
    return std::move(problems_);
  }

 private:
  void check(const MappedPart& part) {
    for (const auto& reference : part.value.references()) {
      const auto* column = find(reference.column);
      if (!column) {
        missing(part, reference.column);
      } else {
        check_type(part, reference, *column);
      }
    }
  }

  void missing(const MappedPart& part, const std::string& column) {
    const auto& optional = mapping_.optional_columns;
    if (std::find(optional.begin(), optional.end(), column) != optional.end()) return;
    report(part, missing_column(column));
  }

  // A column that is named as it is.
  void check(std::string_view key, std::string_view name, std::span<const std::string_view> types,
             std::string_view wanted) {
    if (name.empty()) return;
    const auto* column = find(name);
    if (!column) {
      problems_.push_back(fmt::format("{} = \"{}\": {}", key, name, missing_column(name)));
    } else if (std::find(types.begin(), types.end(), column->type_name) == types.end()) {
      problems_.push_back(
          fmt::format("{} = \"{}\": the column is {}; it has to be {} column", key, name, column->type_name, wanted));
    }
  }

  [[nodiscard]] const ColumnInfo* find(std::string_view name) const {
    const auto found = std::find_if(columns_.begin(), columns_.end(), [&](const auto& c) { return c.name == name; });
    return found == columns_.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::string missing_column(std::string_view column) const {
    std::vector<std::string_view> names;
    for (const auto& known : columns_) names.push_back(known.name);
    const auto nearest = nearest_name(column, names);
    const auto remedy = nearest.empty() ? fmt::format("its columns are {}", fmt::join(names, ", "))
                                        : fmt::format("did you mean \"{}\"?", nearest);
    return fmt::format("table {} has no column \"{}\"; {}", mapping_.name, column, remedy);
  }

  void check_type(const MappedPart& part, const TemplateReference& reference, const ColumnInfo& column) {
    if (reference.pointer && !contains(kJsonTypes, column.type_name)) {
      report(part,
             fmt::format("column \"{}\" is {}, and a JSON pointer needs json, jsonb or text; use \"{{{}}}\" alone",
                         column.name, column.type_name, column.name));
    } else if (part.part == EventPart::timestamp && !reference.pointer && !contains(kTimeTypes, column.type_name)) {
      report(part,
             fmt::format(
                 "column \"{}\" is {}; use a timestamptz, timestamp, date or bigint (epoch milliseconds) column, or "
                 "set timestamp = \"\" for the commit's time",
                 column.name, column.type_name));
    } else if (part.part == EventPart::topic && column.type_name == "bytea") {
      report(part, fmt::format("column \"{}\" is bytea, which cannot name a topic; use a text column", column.name));
    }
  }

  void report(const MappedPart& part, std::string_view problem) {
    problems_.push_back(fmt::format("{} = \"{}\": {}", part.label, part.value.text(), problem));
  }

  const OutboxMapping& mapping_;
  std::span<const ColumnInfo> columns_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> mapping_problems(const OutboxRules& rules, std::span<const ColumnInfo> columns) {
  const auto mapping = compile_mapping(rules);
  if (mapping.of_messages) return {};
  auto problems = MappingChecker(mapping, columns).problems();
  for (auto& problem : write_back_problems(rules, columns)) problems.push_back(std::move(problem));
  return problems;
}

std::vector<std::string> write_back_problems(const OutboxRules& rules, std::span<const ColumnInfo> columns) {
  const auto mapping = compile_mapping(rules);
  return MappingChecker(mapping, columns).write_back_problems(rules);
}

std::string row_id_column(const OutboxRules& rules) {
  constexpr auto kUse = "processed_at, attempts, error and retention.after"sv;
  const auto mapping = compile_mapping(rules);
  const auto fail = [&](const std::string& why) {
    throw RuleError(fmt::format("[[outbox]] {}: {}", mapping.name, why));
  };
  if (mapping.of_messages) fail(fmt::format("messages have no row to write to; leave out {}", kUse));
  const auto& parts = mapping.parts;
  const auto id = std::find_if(parts.begin(), parts.end(), [](const auto& p) { return p.part == EventPart::id; });
  if (id == parts.end() || !id->value.passes_through()) {
    fail(fmt::format("{} find a row by its id, so id has to be one plain column, as in \"{{id}}\", not \"{}\"", kUse,
                     id == parts.end() ? "" : id->value.text()));
  }
  if (std::none_of(parts.begin(), parts.end(), [](const auto& p) { return p.repeats == Repeats::id; })) {
    fail(
        fmt::format("{} need the id as a header, by which an event that was refused is told: set id_header, and no "
                    "other header of its name",
                    kUse));
  }
  return id->value.references().front().column;
}

std::vector<std::string> mapped_columns(const OutboxRules& rules) {
  std::vector<std::string> names;
  for (const auto& part : compile_mapping(rules).parts) {
    for (const auto& reference : part.value.references()) {
      if (std::find(names.begin(), names.end(), reference.column) == names.end()) names.push_back(reference.column);
    }
  }
  return names;
}

}  // namespace walrelay
