#include "connector/postgres/retention_sql.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "connector/postgres/pg_quote.h"
#include "connector/postgres/row_query.h"
#include "decoder/outbox_mapping.h"

namespace walrelay {
namespace {

// For this transaction only: a pooler may hand the session to somebody else. A lock that is not to be had at once is
// left for the next run, and a lost deletion is done again, so that no flush is worth waiting for.
constexpr std::string_view kRetentionLimits = "SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '30s'; ";
constexpr std::string_view kReading =
    "SET LOCAL statement_timeout = '10min'; SET LOCAL max_parallel_workers_per_gather = 0; ";

constexpr const char* kRetentionFactsSql = R"(
SELECT current_user AS role, pg_is_in_recovery() AS recovering, (extract(epoch FROM now()) * 1000)::bigint AS now_ms,
       (SELECT active_pid FROM pg_replication_slots WHERE slot_name = $4::name) AS walsender, c.oid AS relation,
       has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'DELETE') AS may_delete,
       pg_has_role(c.relowner, 'USAGE') AS owned, format_type(coalesce(nullif(t.typbasetype, 0), t.oid), NULL) AS time_type,
       k.attname AS key_column, format_type(k.atttypid, NULL) AS key_type,
       p.partstrat = 'r' AND p.partnatts = 1 AND p.partattrs[0] = a.attnum AS by_time,
       nullif(p.partdefid, 0) AS default_partition,
       (SELECT sum(CASE WHEN s.live > 0 THEN s.live ELSE greatest(l.reltuples, 0) END)::bigint
        FROM (SELECT c.oid AS relid UNION SELECT relid FROM pg_partition_tree(c.oid)) tree
        JOIN pg_class l ON l.oid = tree.relid AND l.relkind = 'r'
        CROSS JOIN LATERAL (SELECT pg_stat_get_live_tuples(l.oid) AS live) s) AS rows
FROM (SELECT) one
LEFT JOIN (pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = $1::name) ON c.relname = $2::name
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = $3::name AND NOT a.attisdropped
LEFT JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
LEFT JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = i.indkey[0]
LEFT JOIN pg_partitioned_table p ON p.partrelid = c.oid)";

constexpr std::array<std::string_view, 4> kTimeTypes = {"timestamp with time zone", "timestamp without time zone",
                                                        "date", "bigint"};

bool tells_time(std::string_view type) {
  return std::find(kTimeTypes.begin(), kTimeTypes.end(), type) != kTimeTypes.end();
}

// Milliseconds since 1970-01-01 UTC of a bound that is printed as `upper`.
std::string bound_ms(std::string_view type) {
  if (type == "bigint") return "upper::bigint";
  const auto* cast = type == "timestamp with time zone" ? "timestamptz" : "timestamp";
  return fmt::format("(extract(epoch FROM upper::{}) * 1000)::bigint", cast);
}

// Not those whose events were dealt with otherwise than by delivery, where the table tells them.
std::string delivered_only(const OutboxRules& rules) {
  if (!rules.processed_at.empty()) return fmt::format(" AND {} IS NOT NULL", quote_identifier(rules.processed_at));
  if (!rules.error.empty()) return fmt::format(" AND {} IS NULL", quote_identifier(rules.error));
  return {};
}

std::string mark_of(const OutboxRules& rules) {
  return fmt::format("walrelay: detached from {} by retention, which drops it", quote_table(rules.table));
}

}  // namespace

SqlStatement retention_facts_sql(const OutboxRules& rules, const std::string& slot) {
  const TableName table = split_table(rules.table);
  return {kRetentionFactsSql, {table.schema, table.name, time_column(rules), slot}};
}

RetentionFacts retention_facts(const PgRow& row) {
  RetentionFacts facts;
  facts.role = row.text("role");
  facts.recovering = row.flag("recovering");
  facts.walsender = static_cast<int>(row.number("walsender"));
  facts.now_ms = row.number("now_ms");
  facts.found = !row.is_null("relation");
  facts.may_delete = row.flag("may_delete");
  facts.owned = row.flag("owned");
  facts.relation = row.text("relation");
  facts.time_type = row.text("time_type");
  facts.key_column = row.text("key_column");
  facts.key_type = row.text("key_type");
  facts.by_time = row.flag("by_time");
  facts.default_partition = row.text("default_partition");
  facts.rows = row.number("rows");
  return facts;
}

std::optional<RetentionProblem> retention_problem(const OutboxRules& rules, const RetentionFacts& facts) {
  const auto table = quote_table(rules.table);
  const auto role = quote_identifier(facts.role);
  if (!facts.found) return {{"the table is not there", "correct its name, or remove [outbox.retention]"}};
  if (facts.recovering) return {{"the server is a standby, where no row can be deleted", "connect to the primary"}};
  if (!facts.may_delete) {
    return {{fmt::format("role {} may not delete its rows", role),
             fmt::format("GRANT SELECT, DELETE ON {} TO {};", table, role)}};
  }
  if (facts.by_time && !facts.owned) {
    return {{fmt::format("role {} does not own the table, and only its owner may detach partitions", role),
             fmt::format("ALTER TABLE {} OWNER TO {}; or make it a member of the owner; the same for the partitions",
                         table, role)}};
  }
  const auto column = time_column(rules);
  if (!column.empty() && facts.time_type.empty()) {
    return {{fmt::format("it has no column \"{}\", which tells the age of a row", column), "correct timestamp"}};
  }
  if (rules.retention.keep.count() > 0 && !tells_time(facts.time_type)) {
    return {{fmt::format("keep goes by the age of a row, which column \"{}\" of type {} does not tell", column,
                         facts.time_type),
             "map timestamp to a column of type timestamptz, timestamp, date or bigint (milliseconds since 1970), or "
             "use max_rows instead"}};
  }
  if (age_column(rules, facts).empty()) {
    return {{"which rows are the oldest cannot be told: it has no primary key, and timestamp is not mapped",
             "map timestamp to the column that says when a row was written"}};
  }
  return {};
}

RetentionProblem not_owned(const Partition& partition, const RetentionFacts& facts) {
  const auto role = quote_identifier(facts.role);
  return {fmt::format("role {} does not own partition {}, and only its owner may drop it", role, partition.name),
          fmt::format("ALTER TABLE {} OWNER TO {}; or make it a member of the owner", partition.name, role)};
}

std::string age_column(const OutboxRules& rules, const RetentionFacts& facts) {
  return facts.time_type.empty() ? facts.key_column : time_column(rules);
}

SqlStatement count_rows_sql(const OutboxRules& rules) {
  return {fmt::format("{}SELECT count(*) AS count FROM {}", kReading, quote_table(rules.table))};
}

SqlStatement choose_rows_sql(const OutboxRules& rules, const RowChoice& choice) {
  const auto order = quote_identifier(choice.order);
  std::string where;
  if (choice.before_ms) where += fmt::format(" AND {} < {}", order, moment_sql(choice.time_type, *choice.before_ms));
  where += delivered_only(rules);
  if (!choice.partition.empty()) where += fmt::format(" AND tableoid = '{}'::oid", choice.partition);
  // txid_current(): makes the server flush the log soon, also where nothing else happens; the relay could not confirm
  // the position otherwise.
  return {fmt::format(
      "{}SELECT pg_current_wal_insert_lsn() AS position, txid_current(), relation, count(*) AS rows, "
      "array_agg(place)::text AS places, array_agg(DISTINCT writer::text)::text AS writers "
      "FROM (SELECT (row_number() OVER () - 1) / {} AS part, relation, place, writer FROM "
      "(SELECT tableoid AS relation, ctid AS place, xmin AS writer FROM {} WHERE true{} ORDER BY {} LIMIT {}) "
      "oldest) numbered GROUP BY part, relation ORDER BY part",
      kReading, choice.batch, quote_table(rules.table), where, order, choice.limit)};
}

RowBatch row_batch(const PgRow& row) {
  return {row.text("relation"), row.text("places"), row.text("writers"), row.number("rows")};
}

SqlStatement delete_rows_sql(const OutboxRules& rules, const RowBatch& batch) {
  return {
      fmt::format("{}SET LOCAL synchronous_commit = off; DELETE FROM {} WHERE ctid = ANY ({}::tid[]) AND xmin = ANY "
                  "({}::xid[]) AND tableoid = '{}'::oid",
                  kRetentionLimits, quote_table(rules.table), quote_literal(batch.places), quote_literal(batch.writers),
                  batch.relation)};
}

SqlStatement partitions_sql(const RetentionFacts& facts) {
  return {fmt::format(R"(
SELECT format('%I.%I', n.nspname, c.relname) AS name, pg_has_role(c.relowner, 'USAGE') AS owned,
       coalesce((to_jsonb(i)->>'inhdetachpending')::boolean, false) AS detach_pending, bound = 'DEFAULT' AS is_default,
       CASE WHEN upper NOT IN ('MAXVALUE', 'infinity', '-infinity') THEN {} END AS upper_ms,
       (SELECT sum(CASE WHEN s.live > 0 THEN s.live ELSE greatest(l.reltuples, 0) END)::bigint
        FROM pg_partition_tree(c.oid) tree JOIN pg_class l ON l.oid = tree.relid AND l.relkind = 'r'
        CROSS JOIN LATERAL (SELECT pg_stat_get_live_tuples(l.oid) AS live) s) AS rows
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) AS bound) b
CROSS JOIN LATERAL (SELECT substring(bound FROM ' TO \(''?([^'']*)''?\)$') AS upper) u
WHERE i.inhparent = $1::oid)",
                      bound_ms(facts.time_type)),
          {facts.relation}};
}

Partition partition(const PgRow& row) {
  Partition found{row.text("name"),       row.flag("owned"), row.flag("detach_pending"),
                  row.flag("is_default"), std::nullopt,      row.number("rows")};
  if (!row.is_null("upper_ms")) found.upper_ms = row.number("upper_ms");
  return found;
}

std::vector<Partition> expired_partitions(const RetentionRules& rules, std::int64_t now_ms,
                                          std::vector<Partition> partitions) {
  const auto newer = [](const Partition& a, const Partition& b) {
    if (!a.upper_ms || !b.upper_ms) return !a.upper_ms && b.upper_ms.has_value();
    return *a.upper_ms > *b.upper_ms;
  };
  std::stable_sort(partitions.begin(), partitions.end(), newer);
  std::vector<Partition> expired;
  std::int64_t rows = 0;  // of the newer ones
  for (auto& one : partitions) {
    const bool too_old = rules.keep.count() > 0 && one.upper_ms && *one.upper_ms <= now_ms - rules.keep.count();
    const bool too_many = rules.max_rows > 0 && one.upper_ms && *one.upper_ms <= now_ms &&
                          rows >= static_cast<std::int64_t>(rules.max_rows);
    rows += one.rows;
    if (too_old || too_many) expired.push_back(std::move(one));
  }
  std::reverse(expired.begin(), expired.end());
  return expired;
}

SqlStatement position_sql() { return {"SELECT pg_current_wal_insert_lsn() AS position, txid_current()"}; }

SqlStatement detach_sql(const OutboxRules& rules, const Partition& partition, bool concurrently) {
  const auto detach = fmt::format("ALTER TABLE {} DETACH PARTITION {}", quote_table(rules.table), partition.name);
  if (partition.detach_pending) return {fmt::format("{}{} FINALIZE", kRetentionLimits, detach)};
  if (concurrently) return {detach + " CONCURRENTLY"};
  return {fmt::format("{}{}", kRetentionLimits, detach)};
}

SqlStatement mark_detached_sql(const OutboxRules& rules, const Partition& partition) {
  return {fmt::format("{}COMMENT ON TABLE {} IS {}", kRetentionLimits, partition.name, quote_literal(mark_of(rules)))};
}

SqlStatement detached_sql(const OutboxRules& rules) {
  return {R"(
SELECT pg_current_wal_insert_lsn() AS position, txid_current(), format('%I.%I', n.nspname, c.relname) AS name
FROM pg_description d JOIN pg_class c ON c.oid = d.objoid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE d.classoid = 'pg_class'::regclass AND d.objsubid = 0 AND d.description = $1 AND NOT c.relispartition
  AND c.relkind IN ('r', 'p') AND pg_has_role(c.relowner, 'USAGE'))",
          {mark_of(rules)}};
}

SqlStatement drop_sql(const std::string& name) { return {fmt::format("{}DROP TABLE {}", kRetentionLimits, name)}; }

}  // namespace walrelay
