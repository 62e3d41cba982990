#include "connector/commands/retention_check.h"

#include <fmt/format.h>

#include "connector/config/option_values.h"
#include "connector/postgres/pg_quote.h"
#include "connector/postgres/retention_sql.h"

namespace walrelay {
namespace {

constexpr std::chrono::milliseconds kBriskInterval{10'000};

constexpr const char* kIndexedSql = R"(
SELECT EXISTS (
  SELECT FROM pg_index i
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
  JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree'
  WHERE i.indrelid = $1::oid AND a.attname = $2::name AND i.indisvalid AND i.indpred IS NULL) AS indexed)";

void check_index(Findings& findings, PgConnection& connection, const OutboxRules& rules, const RetentionFacts& facts) {
  const auto column = age_column(rules, facts);
  if (connection.exec(kIndexedSql, {facts.relation, column})[0].flag("indexed")) return;
  findings.warning(
      "retention.index",
      fmt::format("no index of table \"{}\" begins with \"{}\": each search for old rows reads the whole table",
                  rules.table, column),
      fmt::format("CREATE INDEX CONCURRENTLY ON {} ({}); for a partitioned table without CONCURRENTLY",
                  quote_table(rules.table), quote_identifier(column)));
}

void check_partitions(Findings& findings, PgConnection& connection, const RetentionFacts& facts) {
  const SqlStatement statement = partitions_sql(facts);
  const auto rows = connection.exec(statement.sql, {statement.parameters.begin(), statement.parameters.end()});
  for (int i = 0; i < rows.size(); ++i) {
    const auto one = partition(rows[i]);
    if (one.owned) continue;
    const auto problem = not_owned(one, facts);
    findings.error("retention.partition", problem.what, problem.remedy);
  }
}

// By the primary key, where there is no time, and only a number that counts up says which row is newer.
void check_order(Findings& findings, const OutboxRules& rules, const RetentionFacts& facts) {
  const bool counts_up = facts.key_type == "integer" || facts.key_type == "bigint" || facts.key_type == "smallint";
  if (rules.retention.max_rows == 0 || counts_up || age_column(rules, facts) != facts.key_column) return;
  findings.warning(
      "retention.order",
      fmt::format("which rows of \"{}\" are the newest {} is told by \"{}\" ({}), as no column of time is mapped: rows "
                  "of any age are deleted, unless its values grow as those of UUIDs of version 7 do",
                  rules.table, rules.retention.max_rows, facts.key_column, facts.key_type),
      "map a time by timestamp = \"{COLUMN}\" in the [[outbox]], or delete each row by after = \"ack\"");
}

std::string what_goes(const OutboxRules& rules) {
  const RetentionRules& retention = rules.retention;
  std::string text;
  if (retention.keep.count() > 0) text = fmt::format("that are older than {}", print_duration(retention.keep));
  if (retention.max_rows > 0) {
    text += fmt::format("{}above the newest {}", text.empty() ? "" : " or ", retention.max_rows);
  }
  return text;
}

}  // namespace

void check_retention(Findings& findings, PgConnection& connection, const OutboxRules& rules) {
  if (!rules.retention.wanted()) return;
  const SqlStatement statement = retention_facts_sql(rules, "");
  const auto rows = connection.exec(statement.sql, {statement.parameters.begin(), statement.parameters.end()});
  const RetentionFacts facts = retention_facts(rows[0]);
  if (const auto problem = retention_problem(rules, facts)) {
    return findings.error("retention", fmt::format("retention of table \"{}\": {}", rules.table, problem->what),
                          problem->remedy);
  }
  findings.ok("retention", fmt::format("published {} of \"{}\" {} are {}", facts.by_time ? "partitions" : "rows",
                                       rules.table, what_goes(rules), facts.by_time ? "dropped" : "deleted"));
  check_order(findings, rules, facts);
  if (facts.by_time) check_partitions(findings, connection, facts);
  if (!facts.by_time || !facts.default_partition.empty()) check_index(findings, connection, rules, facts);
  if (rules.retention.interval >= kBriskInterval) return;
  findings.warning(
      "retention.interval",
      fmt::format("retention of table \"{}\" runs every {}: each run connects and reads the table's statistics",
                  rules.table, print_duration(rules.retention.interval)),
      "a minute, the default, bounds the table as well");
}

}  // namespace walrelay
