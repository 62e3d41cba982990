#pragma once
// What the commands need to know of a server, as its catalogs and statistics views tell it. PostgreSQL manual, "System
// Views" and "Replication Management Functions". Every function asks the server and may throw PgError.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connector/postgres/pg_connection.h"
#include "decoder/column_info.h"
#include "decoder/lsn.h"

namespace walrelay {

struct ServerInfo {
  int version_number = 0;  // 150018
  std::string version;     // "15.18 (Debian 15.18-0+deb12u1)"
  std::string wal_level;
  bool in_recovery = false;
  std::string system_identifier;
  Lsn wal_lsn;  // flushed, or replayed in recovery: what lag is measured against
  std::int64_t slots_max = 0;
  std::int64_t slots_used = 0;
  std::int64_t senders_max = 0;
  std::int64_t senders_used = 0;
  bool has_standby = false;                // one is connected, or has a slot
  std::string synchronized_standby_slots;  // PostgreSQL 17+; "" before
  std::string database;
  std::string user;
};
[[nodiscard]] ServerInfo read_server(PgConnection& connection);

struct SlotInfo {
  std::string name;
  std::string plugin;    // "" for a physical slot
  std::string type;      // logical or physical
  std::string database;  // "" for a physical slot
  bool temporary = false;
  bool active = false;
  std::int64_t active_pid = 0;  // 0: none
  std::optional<Lsn> restart_lsn;
  std::optional<Lsn> confirmed_lsn;
  std::string wal_status;                      // reserved, extended, unreserved, lost; "" if none is kept yet
  std::string invalidation_reason;             // PostgreSQL 17+; "" before
  bool failover = false;                       // PostgreSQL 17+: standbys may keep a copy
  bool synced = false;                         // PostgreSQL 17+: such a copy; also set where a standby was promoted
  std::optional<std::int64_t> safe_wal_bytes;  // left before the slot is lost; unset: without limit
  std::optional<std::int64_t> lag_bytes;       // ServerInfo::wal_lsn minus the confirmed position, never negative
  std::optional<std::int64_t> retained_bytes;  // from restart_lsn on; never negative
  // Of the session that uses it; "" where the role may not see it.
  std::string application_name;
  std::string client_address;
  std::string role;

  [[nodiscard]] bool lost() const { return wal_status == "lost" || !invalidation_reason.empty(); }
};
// All slots of the cluster, or the one of that name, in the order of their names.
[[nodiscard]] std::vector<SlotInfo> read_slots(PgConnection& connection, const std::optional<std::string>& name = {});
[[nodiscard]] std::optional<SlotInfo> read_slot(PgConnection& connection, const std::string& name);

struct PublishedTable {
  std::string schema;
  std::string name;
  std::vector<std::string> column_list;  // empty: all columns
  std::string row_filter;                // empty: all rows
};

struct PublicationInfo {
  bool all_tables = false;
  bool inserts = false;
  std::vector<std::string> other_actions;  // update, delete, truncate
  bool via_root = false;
  std::string owner;
  std::vector<PublishedTable>
      tables;  // as rows name them: roots or leaves of partitioned tables, depending on via_root

  std::vector<std::string> members;  // "schema.table" as it was added, also a partitioned table without partitions yet

  [[nodiscard]] const PublishedTable* find(std::string_view schema, std::string_view name) const;
};
[[nodiscard]] std::optional<PublicationInfo> read_publication(PgConnection& connection, const std::string& name);

struct TableInfo {
  std::string schema;
  std::string name;
  char kind = 'r';         // pg_class.relkind; 'p': partitioned
  char persistence = 'p';  // pg_class.relpersistence; 'u': unlogged
  std::string owner;
  std::vector<ColumnInfo> columns;             // those that are published
  std::vector<std::string> generated_columns;  // which are not
  std::vector<std::string> leaves;             // "schema.table" of a partitioned table's partitions
  std::vector<std::string> ancestors;          // "schema.table", the nearest first

  void add_column(bool generated, ColumnInfo column) {
    if (generated) return generated_columns.push_back(std::move(column.name));
    columns.push_back(std::move(column));
  }
};
// Name, type and whether it is generated of each column of the tables whose schemas and names are the parameters, two
// arrays; `ordinal` tells the table.
extern const char* const kColumnsSql;
// `table` as in the configuration.
[[nodiscard]] std::optional<TableInfo> read_table(PgConnection& connection, std::string_view table);
// Names of tables that differ from `table` in letter case, underscores, a plural's s or schema only: what somebody must
// have meant.
[[nodiscard]] std::vector<std::string> similar_tables(PgConnection& connection, std::string_view table);
// The table in the same schema that a mistyped name is nearest to; "" if none is near enough to be meant.
[[nodiscard]] std::string nearest_table(PgConnection& connection, std::string_view table);

struct RoleInfo {
  std::string name;
  bool login = false;
  bool replication = false;  // the attribute, or superuser
  bool may_connect = false;  // to the database connected to
};
[[nodiscard]] std::optional<RoleInfo> read_role(PgConnection& connection, const std::string& name);

}  // namespace walrelay
