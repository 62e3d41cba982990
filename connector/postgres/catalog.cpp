#include "connector/postgres/catalog.h"

#include <algorithm>

#include "connector/postgres/pg_quote.h"
#include "decoder/nearest_name.h"

namespace walrelay {
namespace {

// What the server has written for good; a standby has not written, but replayed.
constexpr const char* kWalLsn =
    "(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END)";

std::vector<std::string> read_names(PgConnection& connection, const std::string& sql, const PgParameters& parameters) {
  const auto rows = connection.exec(sql, parameters);
  std::vector<std::string> names;
  for (int i = 0; i < rows.size(); ++i) names.push_back(rows[i].text("name"));
  return names;
}

std::optional<std::int64_t> maybe_number(const PgRow& row, const char* column) {
  if (row.is_null(column)) return std::nullopt;
  return row.number(column);
}

SlotInfo slot_from(const PgRow& row) {
  SlotInfo slot;
  slot.name = row.text("slot_name");
  slot.plugin = row.text("plugin");
  slot.type = row.text("slot_type");
  slot.database = row.text("database");
  slot.temporary = row.flag("temporary");
  slot.active = row.flag("active");
  slot.active_pid = row.number("active_pid");
  slot.restart_lsn = row.lsn("restart_lsn");
  slot.confirmed_lsn = row.lsn("confirmed_flush_lsn");
  slot.wal_status = row.text("wal_status");
  slot.invalidation_reason = row.text("invalidation_reason");
  slot.failover = row.flag("failover");
  slot.synced = row.flag("synced");
  slot.safe_wal_bytes = maybe_number(row, "safe_wal_size");
  slot.lag_bytes = maybe_number(row, "lag_bytes");
  slot.retained_bytes = maybe_number(row, "retained_bytes");
  slot.application_name = row.text("application_name");
  slot.client_address = row.text("client_address");
  slot.role = row.text("role");
  return slot;
}

std::vector<PublishedTable> read_published_tables(PgConnection& connection, const std::string& publication) {
  // Columns that a server's version lacks come as NULL out of to_jsonb(). pg_publication_tables names all columns where
  // there is no list, so only pg_publication_rel tells whether there is one.
  const auto rows = connection.exec(
      "SELECT pt.schemaname, pt.tablename, to_jsonb(pt)->>'rowfilter' AS row_filter, EXISTS (SELECT 1 FROM "
      "pg_publication_rel pr "
      "WHERE pr.prpubid = p.oid AND to_jsonb(pr)->>'prattrs' IS NOT NULL AND (pr.prrelid = c.oid OR pr.prrelid IN "
      "(SELECT relid FROM pg_partition_ancestors(c.oid)))) AS listed FROM pg_publication_tables pt "
      "JOIN pg_publication p ON p.pubname = pt.pubname JOIN pg_namespace n ON n.nspname = pt.schemaname "
      "JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = pt.tablename WHERE pt.pubname = $1 ORDER BY 1, 2",
      {publication});
  std::vector<PublishedTable> tables;
  for (int i = 0; i < rows.size(); ++i) {
    PublishedTable table{rows[i].text("schemaname"), rows[i].text("tablename"), {}, rows[i].text("row_filter")};
    if (rows[i].flag("listed")) {
      table.column_list =
          read_names(connection,
                     "SELECT unnest(attnames)::text AS name FROM pg_publication_tables WHERE pubname = $1 AND "
                     "schemaname = $2 AND tablename = $3",
                     {publication, table.schema, table.name});
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

void read_columns(PgConnection& connection, TableInfo& table) {
  const auto rows = connection.exec(kColumnsSql, {array_text({&table.schema, 1}), array_text({&table.name, 1})});
  for (int i = 0; i < rows.size(); ++i) {
    table.add_column(rows[i].flag("generated"), {rows[i].text("name"), rows[i].text("type")});
  }
}

}  // namespace

const char* const kColumnsSql = R"(
SELECT o.ordinal, a.attname::text AS name, a.attgenerated <> '' AS generated, (
  WITH RECURSIVE base AS (
    SELECT t.oid, t.typbasetype FROM pg_type t WHERE t.oid = a.atttypid
    UNION ALL SELECT t.oid, t.typbasetype FROM pg_type t JOIN base b ON t.oid = b.typbasetype)
  SELECT format_type(oid, NULL) FROM base WHERE typbasetype = 0) AS type
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS o(schema, name, ordinal)
JOIN pg_namespace n ON n.nspname = o.schema JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = o.name
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY o.ordinal, a.attnum)";

ServerInfo read_server(PgConnection& connection) {
  const auto rows = connection.exec(
      std::string(
          "SELECT current_setting('server_version') AS version, current_setting('wal_level') AS wal_level, "
          "pg_is_in_recovery() AS in_recovery, (SELECT system_identifier FROM pg_control_system()) AS "
          "system_identifier, "
          "current_setting('max_replication_slots') AS slots_max, (SELECT count(*) FROM pg_replication_slots) AS "
          "slots_used, current_setting('max_wal_senders') AS senders_max, (SELECT count(*) FROM pg_stat_replication) "
          "AS "
          "senders_used, (SELECT count(*) > 0 FROM pg_replication_slots WHERE slot_type = 'physical') OR (SELECT "
          "count(*) > 0 FROM pg_stat_replication r WHERE r.application_name NOT LIKE 'walrelay/%' AND NOT EXISTS "
          "(SELECT FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')) AS "
          "has_standby, coalesce(current_setting('synchronized_standby_slots', true), '') AS standby_slots, "
          "current_database() AS database, current_user AS role, ") +
      kWalLsn + " AS wal_lsn");
  const auto row = rows[0];
  ServerInfo facts;
  facts.version_number = connection.server_version();
  facts.version = row.text("version");
  facts.wal_level = row.text("wal_level");
  facts.in_recovery = row.flag("in_recovery");
  facts.system_identifier = row.text("system_identifier");
  facts.wal_lsn = row.lsn("wal_lsn").value_or(Lsn{});
  facts.slots_max = row.number("slots_max");
  facts.slots_used = row.number("slots_used");
  facts.senders_max = row.number("senders_max");
  facts.senders_used = row.number("senders_used");
  facts.has_standby = row.flag("has_standby");
  facts.synchronized_standby_slots = row.text("standby_slots");
  facts.database = row.text("database");
  facts.user = row.text("role");
  return facts;
}

std::vector<SlotInfo> read_slots(PgConnection& connection, const std::optional<std::string>& name) {
  const auto rows = connection.exec(
      std::string(
          "SELECT s.slot_name, s.plugin, s.slot_type, s.database, s.temporary, s.active, s.active_pid, s.restart_lsn, "
          "s.confirmed_flush_lsn, s.wal_status, s.safe_wal_size, to_jsonb(s)->>'invalidation_reason' AS "
          "invalidation_reason, (to_jsonb(s)->>'failover')::boolean AS failover, "
          "(to_jsonb(s)->>'synced')::boolean AS synced, a.application_name, "
          "host(a.client_addr) AS client_address, a.usename AS role, greatest(pg_wal_lsn_diff(w.lsn, "
          "s.confirmed_flush_lsn), 0) AS lag_bytes, greatest(pg_wal_lsn_diff(w.lsn, s.restart_lsn), 0) AS "
          "retained_bytes FROM pg_replication_slots s CROSS JOIN (SELECT ") +
          kWalLsn +
          " AS lsn) w LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid WHERE $1::text IS NULL OR s.slot_name = "
          "$1::text "
          "ORDER BY s.slot_name",
      {name});
  std::vector<SlotInfo> slots;
  for (int i = 0; i < rows.size(); ++i) slots.push_back(slot_from(rows[i]));
  return slots;
}

std::optional<SlotInfo> read_slot(PgConnection& connection, const std::string& name) {
  auto slots = read_slots(connection, name);
  if (slots.empty()) return std::nullopt;
  return std::move(slots.front());
}

const PublishedTable* PublicationInfo::find(std::string_view schema, std::string_view name) const {
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const PublishedTable& table) {
    return table.schema == schema && table.name == name;
  });
  return found == tables.end() ? nullptr : &*found;
}

std::optional<PublicationInfo> read_publication(PgConnection& connection, const std::string& name) {
  const auto rows = connection.exec(
      "SELECT puballtables, pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot, pg_get_userbyid(pubowner) AS "
      "owner "
      "FROM pg_publication WHERE pubname = $1",
      {name});
  if (rows.empty()) return std::nullopt;
  const auto row = rows[0];
  PublicationInfo facts;
  facts.all_tables = row.flag("puballtables");
  facts.inserts = row.flag("pubinsert");
  if (row.flag("pubupdate")) facts.other_actions.emplace_back("update");
  if (row.flag("pubdelete")) facts.other_actions.emplace_back("delete");
  if (row.flag("pubtruncate")) facts.other_actions.emplace_back("truncate");
  facts.via_root = row.flag("pubviaroot");
  facts.owner = row.text("owner");
  facts.tables = read_published_tables(connection, name);
  facts.members =
      read_names(connection,
                 "SELECT n.nspname || '.' || c.relname AS name FROM pg_publication_rel pr JOIN pg_publication p ON "
                 "p.oid = pr.prpubid JOIN pg_class c ON c.oid = pr.prrelid JOIN pg_namespace n ON n.oid = "
                 "c.relnamespace WHERE p.pubname = $1 ORDER BY 1",
                 {name});
  return facts;
}

std::optional<TableInfo> read_table(PgConnection& connection, std::string_view table) {
  const auto [schema, name] = split_table(table);
  const auto rows = connection.exec(
      "SELECT c.oid, c.relkind, c.relpersistence, pg_get_userbyid(c.relowner) AS owner FROM pg_class c JOIN "
      "pg_namespace n "
      "ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')",
      {schema, name});
  if (rows.empty()) return std::nullopt;
  const auto oid = rows[0].text("oid");
  TableInfo facts{
      schema, name, rows[0].text("relkind")[0], rows[0].text("relpersistence")[0], rows[0].text("owner"), {}, {},
      {},     {}};
  read_columns(connection, facts);
  const std::string named = "JOIN pg_class c ON c.oid = t.relid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ";
  facts.leaves = read_names(connection,
                            "SELECT n.nspname || '.' || c.relname AS name FROM pg_partition_tree($1::oid) t " + named +
                                "t.isleaf AND t.relid <> $1::oid ORDER BY 1",
                            {oid});
  facts.ancestors = read_names(connection,
                               "SELECT n.nspname || '.' || c.relname AS name FROM pg_partition_ancestors($1::oid) WITH "
                               "ORDINALITY t(relid, place) " +
                                   named + "t.relid <> $1::oid ORDER BY t.place",
                               {oid});
  return facts;
}

std::vector<std::string> similar_tables(PgConnection& connection, std::string_view table) {
  const auto [schema, name] = split_table(table);
  return read_names(
      connection,
      "SELECT n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
      "WHERE c.relkind IN ('r', 'p') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' AND "
      "rtrim(lower(replace(c.relname, '_', '')), 's') = rtrim(lower(replace($1, '_', '')), 's') ORDER BY 1 LIMIT 5",
      {name});
}

std::string nearest_table(PgConnection& connection, std::string_view table) {
  const auto [schema, name] = split_table(table);
  const auto known = read_names(
      connection,
      "SELECT n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
      "WHERE c.relkind IN ('r', 'p') AND n.nspname = $1 ORDER BY 1 LIMIT 1000",
      {schema});
  const std::vector<std::string_view> names(known.begin(), known.end());
  return std::string(nearest_name(table, names));
}

std::optional<RoleInfo> read_role(PgConnection& connection, const std::string& name) {
  const auto rows = connection.exec(
      "SELECT rolname, rolcanlogin, rolreplication OR rolsuper AS replication, has_database_privilege(oid, "
      "current_database(), "
      "'CONNECT') AS may_connect FROM pg_roles WHERE rolname = $1",
      {name});
  if (rows.empty()) return std::nullopt;
  return RoleInfo{rows[0].text("rolname"), rows[0].flag("rolcanlogin"), rows[0].flag("replication"),
                  rows[0].flag("may_connect")};
}

}  // namespace walrelay
