#include "connector/postgres/row_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "connector/postgres/pg_quote.h"
#include "decoder/mapping_check.h"
#include "decoder/outbox_mapping.h"
#include "decoder/rule_error.h"

namespace walrelay {
namespace {

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const auto& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

// "ProcessedAt" and "processed_at" alike.
bool sounds_processed(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain == "processedat";
}

class QueryBuilder {
 public:
  QueryBuilder(const OutboxRules& rules, const RowTable& table, const RowFilter& filter)
      : rules_(rules), table_(table), filter_(filter), mapping_(compile_mapping(rules)) {}

  RowQuery build() {
    RowQuery query;
    std::vector<std::string> names;
    for (const auto& name : mapped_columns(rules_)) {
      if (const auto* column = find(name)) {
        query.columns.push_back(*column);
        names.push_back(quote_identifier(name));
      }
    }
    const auto from = fmt::format(" FROM {}{}", quote_table(rules_.table), where());
    query.count = "SELECT count(*) AS count" + from;
    query.select = fmt::format("SELECT {}{}{}", joined(names, ", "), from, order());
    if (!filter_.ids.empty()) query.id_column = *column_of(EventPart::id);
    return query;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw RuleError(fmt::format("[[outbox]] {}: {}", rules_.table, what));
  }

  [[nodiscard]] const RowColumn* find(std::string_view name) const {
    const auto found =
        std::find_if(table_.columns.begin(), table_.columns.end(), [&](const auto& c) { return c.name == name; });
    return found == table_.columns.end() ? nullptr : &*found;
  }

  // The column whose text is that part of the event, if it is one.
  [[nodiscard]] const RowColumn* column_of(EventPart part, std::string_view header = "") const {
    for (const auto& mapped : mapping_.parts) {
      if (mapped.part != part || mapped.header != header || !mapped.value.passes_through()) continue;
      return find(mapped.value.references().front().column);
    }
    return nullptr;
  }

  [[nodiscard]] std::string where() const {
    std::vector<std::string> conditions;
    if (filter_.unprocessed) conditions.push_back(quote_identifier(processed_column()) + " IS NULL");
    if (!filter_.ids.empty()) conditions.push_back(id_condition());
    if (!filter_.type.empty()) {
      conditions.push_back(
          fmt::format("{}::text = {}", quote_identifier(type_column().name), quote_literal(filter_.type)));
    }
    add_moment(conditions, ">=", filter_.since_ms);
    add_moment(conditions, "<", filter_.before_ms);
    return conditions.empty() ? "" : " WHERE " + joined(conditions, " AND ");
  }

  [[nodiscard]] std::string processed_column() const {
    if (find(rules_.processed_at)) return rules_.processed_at;
    if (!rules_.processed_at.empty()) fail(fmt::format("the table has no column \"{}\"", rules_.processed_at));
    for (const auto& column : table_.columns) {
      if (!sounds_processed(column.name)) continue;
      fail(fmt::format(
          "which rows are unprocessed is told by the column processed_at, and the configuration names "
          "none; write processed_at = \"{0}\" in the [[outbox]], or --set outbox.0.processed_at={0} for the "
          "first",
          column.name));
    }
    fail(
        "which rows are unprocessed cannot be told: set processed_at of the [[outbox]] to the column that is NULL "
        "until a row has been published, or choose all or since=TIME");
  }

  [[nodiscard]] std::string id_condition() const {
    const auto* column = column_of(EventPart::id);
    if (!column) fail("rows cannot be chosen by id: the id is not one column; choose them by time or type");
    std::vector<std::string> ids;
    for (const auto& id : filter_.ids) ids.push_back(quote_literal(id));
    return fmt::format("{} = ANY (ARRAY[{}]::{}[])", quote_identifier(column->name), joined(ids, ", "),
                       column->type_name);
  }

  // The header `type` where it is a column, as the presets have it; else a column of that name.
  [[nodiscard]] const RowColumn& type_column() const {
    for (const auto* column : {column_of(EventPart::header, "type"), find("type"), find("Type")}) {
      if (column) return *column;
    }
    fail(
        "rows cannot be chosen by type: neither is the header \"type\" one column, nor is there a column of that name");
  }

  void add_moment(std::vector<std::string>& conditions, std::string_view comparison,
                  const std::optional<std::int64_t>& ms) const {
    if (!ms) return;
    const auto* column = column_of(EventPart::timestamp);
    if (!column) {
      fail(
          "rows cannot be chosen by time: timestamp is not one column; set it to the column that says when a row was "
          "written");
    }
    conditions.push_back(
        fmt::format("{} {} {}", quote_identifier(column->name), comparison, moment_sql(column->type_name, *ms)));
  }

  [[nodiscard]] bool is_number(const std::string& name) const {
    const auto* column = find(name);
    return column && (column->type_name == "bigint" || column->type_name == "integer");
  }

  [[nodiscard]] std::string order() const {
    std::vector<std::string> columns;
    const auto add = [&](const std::string& name) {
      auto quoted = quote_identifier(name);
      if (std::find(columns.begin(), columns.end(), quoted) == columns.end()) columns.push_back(std::move(quoted));
    };
    if (const auto* time = column_of(EventPart::timestamp)) add(time->name);
    for (const auto& name : table_.primary_key) {
      if (is_number(name)) add(name);
    }
    columns.emplace_back("ctid");
    return " ORDER BY " + joined(columns, ", ");
  }

  const OutboxRules& rules_;
  const RowTable& table_;
  const RowFilter& filter_;
  const OutboxMapping mapping_;
};

}  // namespace

std::string moment_sql(std::string_view type_name, std::int64_t ms) {
  const auto instant = fmt::format("to_timestamp({} / 1000.0)", ms);
  if (type_name == "bigint") return std::to_string(ms);
  if (type_name == "date") return fmt::format("({} AT TIME ZONE 'UTC')::date", instant);
  if (type_name == "timestamp without time zone") return fmt::format("({} AT TIME ZONE 'UTC')", instant);
  return instant;
}

RowQuery make_row_query(const OutboxRules& rules, const RowTable& table, const RowFilter& filter) {
  return QueryBuilder(rules, table, filter).build();
}

}  // namespace walrelay
