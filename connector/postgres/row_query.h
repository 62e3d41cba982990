#pragma once
// Which rows of an outbox table to read, and in which order, as SQL. Pure.
//
// Order: by the column that the event's time is mapped to, then by a primary key that counts, then by the row's place
// in the table, which for rows that were never updated is as a rule the order in which they were written: several rows
// of one transaction have one time. Commit order is not known any more for rows that are read from the table.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/outbox_rules.h"

namespace walrelay {

struct RowColumn {
  std::string name;
  std::string type_name;      // as format_type() prints it; of a domain its base type's
  std::uint32_t type_id = 0;  // pg_type.oid; of a domain its own, as in a Relation message
};

struct RowTable {
  std::vector<RowColumn> columns;  // without generated ones, which are not in the stream either
  std::vector<std::string> primary_key;
};

// All of these must be true of a row.
struct RowFilter {
  bool unprocessed = false;               // the column processed_at is NULL
  std::vector<std::string> ids;           // the event's id is one of these; empty: any
  std::string type;                       // "": any
  std::optional<std::int64_t> since_ms;   // milliseconds since 1970-01-01 UTC; inclusive
  std::optional<std::int64_t> before_ms;  // exclusive

  [[nodiscard]] bool everything() const {
    return !unprocessed && ids.empty() && type.empty() && !since_ms && !before_ms;
  }
};

struct RowQuery {
  std::vector<RowColumn> columns;  // those that are mapped, in the order of `select`
  std::string count;
  std::string select;
  std::optional<RowColumn> id_column;  // that filter.ids are compared with
};

// Throws RuleError, with the remedy, if the mapping does not name the column that a filter needs.
[[nodiscard]] RowQuery make_row_query(const OutboxRules& rules, const RowTable& table, const RowFilter& filter);

// The value of a time column that stands for a moment: milliseconds since 1970-01-01 UTC.
[[nodiscard]] std::string moment_sql(std::string_view type_name, std::int64_t ms);

}  // namespace walrelay
