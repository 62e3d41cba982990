#include "connector/postgres/write_back_sql.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "connector/postgres/pg_quote.h"
#include "decoder/mapping_check.h"

namespace walrelay {
namespace {

// A lock that lasts is a matter for the next try, which passes over it. synchronous_commit stays as the server has it:
// with "off" a crash of the server may forget marks of rows whose position was confirmed, so it is not set here.
constexpr std::string_view kWriteBackLimits = "SET LOCAL lock_timeout = '500ms'; SET LOCAL statement_timeout = '5s'; ";

constexpr int kErrorCharactersMax = 2000;

std::string listed(std::span<const std::string> names) {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + quote_identifier(name);
  return list;
}

const WriteBackColumn* find(std::span<const WriteBackColumn> columns, std::string_view name) {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const auto& c) { return c.info.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

// As OutboxRules::timestamp reads the types.
std::string now_as(std::string_view type) {
  if (type == "bigint") return "(extract(epoch FROM now()) * 1000)::bigint";
  if (type == "date") return "(now() AT TIME ZONE 'UTC')::date";
  if (type == "timestamp without time zone") return "now() AT TIME ZONE 'UTC'";
  return "now()";
}

std::string error_value(const WriteBackColumn& column) {
  const int limit =
      column.characters_max > 0 ? std::min(column.characters_max, kErrorCharactersMax) : kErrorCharactersMax;
  const auto text = fmt::format("left({{}}::text, {})", limit);
  if (column.info.type_name == "json") return "to_json(" + text + ")";
  if (column.info.type_name == "jsonb") return "to_jsonb(" + text + ")";
  return text;
}

}  // namespace

const char* const kWriteBackColumnsSql = R"(
SELECT a.attname AS name, format_type(a.atttypid, -1) AS type, format_type(b.oid, NULL) AS base,
       CASE WHEN b.typname IN ('varchar', 'bpchar') AND m.modifier > 4 THEN m.modifier - 4 ELSE 0 END AS characters,
       EXISTS (SELECT FROM pg_partition_tree(c.oid) t
               JOIN pg_depend d ON d.objid = t.relid AND d.refobjid = t.relid AND d.refobjsubid = 0 AND d.deptype = 'i'
               JOIN pg_attribute k ON k.attrelid = t.relid AND k.attnum = d.objsubid
               WHERE d.classid = 'pg_class'::regclass AND d.refclassid = d.classid AND k.attname = a.attname) AS partitions
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid JOIN pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
CROSS JOIN LATERAL (SELECT CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE a.atttypmod END AS modifier) m
WHERE n.nspname = $1::name AND c.relname = $2::name AND a.attname = ANY ($3::text[]) AND a.attnum > 0 AND NOT a.attisdropped)";

std::vector<std::string> write_back_columns(const OutboxRules& rules) {
  std::vector<std::string> columns{row_id_column(rules)};
  for (const auto& name : {rules.processed_at, rules.attempts, rules.error}) {
    if (!name.empty() && std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
  }
  return columns;
}

std::string grant_write_back_sql(const OutboxRules& rules, std::string_view role) {
  const auto read = write_back_columns(rules);
  std::vector<std::string> written(read.begin() + 1, read.end());
  // What locks a row, to pass over those that others have locked, needs UPDATE on a column of it.
  if (written.empty()) written = read;
  return fmt::format("GRANT SELECT ({}), UPDATE ({}){} ON {} TO {}", listed(read), listed(written),
                     rules.deletes_acknowledged() ? ", DELETE" : "", quote_table(rules.table), quote_identifier(role));
}

WriteBackRefusal classify_write_back(std::string_view sqlstate) {
  constexpr std::array<std::string_view, 8> kPassing = {"", "08", "25", "40", "53", "55", "57", "58"};
  if (std::find(kPassing.begin(), kPassing.end(), sqlstate.substr(0, 2)) != kPassing.end()) {
    return WriteBackRefusal::passing;
  }
  const bool table = sqlstate.starts_with("42") || sqlstate.starts_with("3") || sqlstate.starts_with("0A");
  return table ? WriteBackRefusal::table : WriteBackRefusal::rows;
}

std::string write_back_remedy(std::string_view sqlstate, const OutboxRules& rules, std::string_view role) {
  if (sqlstate == "42501") return fmt::format("; remedy: {}", grant_write_back_sql(rules, role));
  if (sqlstate == kLockNotAvailable) return "; another transaction has locked rows or the table: end it";
  return "";
}

// The stream has the lower half of a transaction's id; the whole one is that next to the snapshot's end.
std::string visibility_sql(const WriteBackBatch& batch) {
  return fmt::format(
      R"(
SELECT bool_or(NOT pg_visible_in_snapshot((last - CASE WHEN behind < 2147483648 THEN behind ELSE behind - 4294967296 END)::text::xid8, now))
       AS unseen
FROM (SELECT now, last, (last - writer) & 4294967295 AS behind
      FROM (SELECT pg_current_snapshot() AS now) s CROSS JOIN LATERAL (SELECT pg_snapshot_xmax(now)::text::bigint AS last) e
      CROSS JOIN unnest('{{{}}}'::bigint[]) AS writer) w)",
      fmt::join(batch.writers, ","));
}

WriteBackStatements::WriteBackStatements(const OutboxRules& rules, std::span<const WriteBackColumn> columns)
    : table_(quote_table(rules.table)), id_(quote_identifier(row_id_column(rules))) {
  if (const auto* id = find(columns, row_id_column(rules))) id_type_ = id->type;
  if (rules.deletes_acknowledged()) {
    mark_ = fmt::format("DELETE FROM {}", table_);
    lock_ = "FOR UPDATE";
  } else if (const auto* processed = find(columns, rules.processed_at)) {
    const auto name = quote_identifier(processed->info.name);
    mark_ = fmt::format("UPDATE {} SET {} = {}", table_, name, now_as(processed->info.type_name));
    lock_ = "FOR NO KEY UPDATE";
    open_ = fmt::format(" AND {} IS NULL", name);
  }
  if (const auto* attempts = find(columns, rules.attempts)) {
    const auto name = quote_identifier(attempts->info.name);
    count_attempt_ = fmt::format("{0} = coalesce({0}, 0) + 1", name);
    untold_ = fmt::format(" AND coalesce({}, 0) = 0", name);
  }
  if (const auto* error = find(columns, rules.error)) {
    error_ = quote_identifier(error->info.name);
    error_value_ = error_value(*error);
    untold_ = fmt::format(" AND {} IS NULL", error_);
  }
}

std::string WriteBackStatements::of(const WriteBackBatch& batch, bool only_free) const {
  const bool failure = batch.kind == WriteBackBatch::Kind::failed;
  return std::string(kWriteBackLimits) + (failure ? failure_sql(batch) : rows_sql(batch, only_free));
}

// The ids are compared as values of the column's own type, so that its index serves.
std::string WriteBackStatements::rows_sql(const WriteBackBatch& batch, bool only_free) const {
  const auto& untold = batch.kind == WriteBackBatch::Kind::covered ? untold_ : std::string();
  const auto where = fmt::format("{} = ANY ({}::{}[]){}{}", id_, quote_literal(batch.ids), id_type_, open_, untold);
  if (!only_free) return fmt::format("{} WHERE {}", mark_, where);
  return fmt::format("{0} WHERE {1} = ANY (ARRAY(SELECT {1} FROM {2} WHERE {3} {4} SKIP LOCKED)){5}", mark_, id_,
                     table_, where, lock_, open_);
}

std::string WriteBackStatements::failure_sql(const WriteBackBatch& batch) const {
  std::string reason = batch.reason;
  std::erase(reason, '\0');
  std::string set = count_attempt_;
  if (!error_.empty()) {
    set += fmt::format("{}{} = {}", set.empty() ? "" : ", ", error_,
                       fmt::format(fmt::runtime(error_value_), quote_literal(reason)));
  }
  return fmt::format("UPDATE {} SET {} WHERE {} = {}::{}", table_, set, id_, quote_literal(batch.ids), id_type_);
}

}  // namespace walrelay
