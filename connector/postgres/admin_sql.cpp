#include "connector/postgres/admin_sql.h"

#include <fmt/format.h>

#include "connector/postgres/pg_quote.h"

namespace walrelay {
namespace {

std::string published(const PublicationTable& table) {
  auto sql = quote_table(table.table);
  std::string list;
  for (const auto& column : table.columns) {
    list += list.empty() ? "" : ", ";
    list += quote_identifier(column);
  }
  if (!list.empty()) sql += " (" + list + ")";
  return sql;
}

}  // namespace

std::string create_table_sql(std::string_view table, const Preset& preset) {
  std::string lines;
  for (const auto& column : preset.columns) {
    lines += fmt::format("{}\n  {} {}", lines.empty() ? "" : ",", quote_identifier(column.name), column.definition);
  }
  return fmt::format("CREATE TABLE {} ({}\n)", quote_table(table), lines);
}

std::string create_publication_sql(std::string_view publication, std::span<const PublicationTable> tables,
                                   bool via_root) {
  std::string list;
  for (const auto& table : tables) list += (list.empty() ? " FOR TABLE " : ", ") + published(table);
  return fmt::format("CREATE PUBLICATION {}{} WITH (publish = 'insert'{})", quote_identifier(publication), list,
                     via_root ? ", publish_via_partition_root = true" : "");
}

std::string add_table_sql(std::string_view publication, const PublicationTable& table) {
  return fmt::format("ALTER PUBLICATION {} ADD TABLE {}", quote_identifier(publication), published(table));
}

std::string create_slot_sql(std::string_view slot) {
  return fmt::format("SELECT pg_create_logical_replication_slot({}, 'pgoutput')", quote_literal(slot));
}

std::string enable_failover_command(std::string_view slot) {
  return fmt::format("ALTER_REPLICATION_SLOT {} (FAILOVER true)", quote_identifier(slot));
}

std::string create_role_sql(std::string_view role) {
  return fmt::format("CREATE ROLE {} LOGIN REPLICATION", quote_identifier(role));
}

std::string alter_role_sql(std::string_view role) {
  return fmt::format("ALTER ROLE {} LOGIN REPLICATION", quote_identifier(role));
}

std::string grant_on_table_sql(std::string_view rights, std::string_view table, std::string_view role) {
  return fmt::format("GRANT {} ON {} TO {}", rights, quote_table(table), quote_identifier(role));
}

std::string grant_connect_sql(std::string_view role, std::string_view database) {
  return fmt::format("GRANT CONNECT ON DATABASE {} TO {}", quote_identifier(database), quote_identifier(role));
}

}  // namespace walrelay
