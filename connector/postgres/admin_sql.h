#pragma once
// The statements of `init`, the same whether they are printed or run. Pure.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/presets.h"

namespace walrelay {

struct PublicationTable {
  std::string table;                 // "schema.table"
  std::vector<std::string> columns;  // empty: all
};

[[nodiscard]] std::string create_table_sql(std::string_view table, const Preset& preset);

// Inserts only. `via_root`: rows of partitions come under the partitioned table's name. No tables: for messages alone.
[[nodiscard]] std::string create_publication_sql(std::string_view publication, std::span<const PublicationTable> tables,
                                                 bool via_root);
[[nodiscard]] std::string add_table_sql(std::string_view publication, const PublicationTable& table);

[[nodiscard]] std::string create_slot_sql(std::string_view slot);

// "CREATE ROLE ..." without a password.
// Not SQL, but a command of the replication protocol.
[[nodiscard]] std::string enable_failover_command(std::string_view slot);
[[nodiscard]] std::string create_role_sql(std::string_view role);
[[nodiscard]] std::string alter_role_sql(std::string_view role);
[[nodiscard]] std::string grant_on_table_sql(std::string_view rights, std::string_view table, std::string_view role);
[[nodiscard]] std::string grant_connect_sql(std::string_view role, std::string_view database);

}  // namespace walrelay
