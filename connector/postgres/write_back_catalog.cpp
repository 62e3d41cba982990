#include "connector/postgres/write_back_catalog.h"

#include <fmt/format.h>

#include "connector/postgres/pg_quote.h"
#include "decoder/mapping_check.h"
#include "decoder/rule_error.h"

namespace walrelay {

bool may_write_back(PgConnection& connection, const OutboxRules& rules, const std::string& role) {
  const auto [schema, table] = split_table(rules.table);
  const auto read = write_back_columns(rules);
  const std::vector<std::string> named(read.begin() + 1, read.end());
  const auto answer = connection.exec(
      "SELECT count(*) = $4::int AND coalesce(bool_and(has_column_privilege(r.oid, c.oid, a.attnum, 'SELECT') AND "
      "(NOT a.attname = ANY ($6::text[]) OR has_column_privilege(r.oid, c.oid, a.attnum, 'UPDATE')) AND "
      "($7 = 'no' OR has_table_privilege(r.oid, c.oid, 'DELETE'))), false) AS allowed "
      "FROM pg_roles r, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = "
      "c.oid WHERE r.rolname = $1 AND n.nspname = $2 AND c.relname = $3 AND a.attname = ANY ($5::text[]) AND NOT "
      "a.attisdropped",
      {role, schema, table, std::to_string(read.size()), array_text(read), array_text(named.empty() ? read : named),
       std::string(rules.deletes_acknowledged() ? "yes" : "no")});
  return answer[0].flag("allowed");
}

bool has_index_on_id(PgConnection& connection, const OutboxRules& rules) {
  const auto [schema, table] = split_table(rules.table);
  const auto answer = connection.exec(
      "SELECT count(*) > 0 AS found FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid "
      "= c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] WHERE n.nspname = $1 AND "
      "c.relname = $2 AND a.attname = $3 AND i.indisvalid AND i.indpred IS NULL",
      {schema, table, row_id_column(rules)});
  return answer[0].flag("found");
}

std::vector<WriteBackColumn> read_write_back_columns(PgConnection& connection, const OutboxRules& rules) {
  const auto [schema, table] = split_table(rules.table);
  return take_write_back_columns(
      connection.exec(kWriteBackColumnsSql, {schema, table, array_text(write_back_columns(rules))}));
}

std::vector<WriteBackColumn> take_write_back_columns(const PgRows& answer) {
  std::vector<WriteBackColumn> columns;
  columns.reserve(static_cast<std::size_t>(answer.size()));
  for (int i = 0; i < answer.size(); ++i) {
    const auto row = answer[i];
    columns.push_back({{row.text("name"), row.text("base")},
                       row.text("type"),
                       static_cast<int>(row.number("characters")),
                       row.flag("partitions")});
  }
  return columns;
}

std::string moving_column(const OutboxRules& rules, const std::vector<WriteBackColumn>& columns) {
  for (const auto& column : columns) {
    const auto& name = column.info.name;
    const bool marks = name == rules.processed_at && !rules.deletes_acknowledged();
    if (column.partitions && (marks || name == rules.attempts || name == rules.error)) return name;
  }
  return {};
}

WriteBackStatements make_write_back_statements(const OutboxRules& rules, const std::vector<WriteBackColumn>& columns) {
  std::vector<ColumnInfo> infos;
  infos.reserve(columns.size());
  for (const auto& column : columns) infos.push_back(column.info);
  const auto problems = write_back_problems(rules, infos);
  if (!problems.empty()) throw RuleError(problems.front());
  if (const auto moving = moving_column(rules, columns); !moving.empty()) {
    throw RuleError(
        fmt::format("column \"{}\" of table {} is in its partition key: writing to it would move the row, which the "
                    "server would send as a new one; partition the table by another column, or do not name this one in "
                    "the [[outbox]]",
                    moving, rules.table));
  }
  return {rules, columns};
}

}  // namespace walrelay
