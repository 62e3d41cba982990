#include "decoder/mapping_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "decoder/nearest_name.h"
#include "decoder/outbox_mapping.h"

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
constexpr std::array kJsonTypes = {"json"sv,      "jsonb"sv,   "text"sv,  "character varying"sv,
                                   "character"sv, "varchar"sv, "bpchar"sv};

template <std::size_t size>
bool contains(const std::array<std::string_view, size>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class MappingChecker {
 public:
  MappingChecker(const OutboxMapping& mapping, std::string_view processed_at, std::span<const ColumnInfo> columns)
      : mapping_(mapping), processed_at_(processed_at), columns_(columns) {}

  std::vector<std::string> problems() {
    for (const auto& part : mapping_.parts) {
      if (part.repeats == Repeats::nothing) check(part);
    }
    if (!processed_at_.empty() && !find(processed_at_)) {
      problems_.push_back(fmt::format("processed_at = \"{}\": {}", processed_at_, missing_column(processed_at_)));
    }
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
  std::string_view processed_at_;
  std::span<const ColumnInfo> columns_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> mapping_problems(const OutboxRules& rules, std::span<const ColumnInfo> columns) {
  const auto mapping = compile_mapping(rules);
  if (mapping.of_messages) return {};
  return MappingChecker(mapping, rules.processed_at, columns).problems();
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
