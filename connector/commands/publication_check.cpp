#include "connector/commands/publication_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "connector/commands/command_support.h"
#include "connector/postgres/admin_sql.h"
#include "connector/postgres/pg_quote.h"
#include "decoder/mapping_check.h"

namespace walrelay {
namespace {

std::string full_name(const TableInfo& table) { return table.schema + "." + table.name; }

bool publishes(const PublicationInfo& facts, const std::string& table) {
  const auto [schema, name] = split_table(table);
  return facts.find(schema, name) != nullptr;
}

// The entries whose rows are the table's: itself, or its leaves.
std::vector<const PublishedTable*> entries_of(const PublicationInfo& facts, const TableInfo& table) {
  std::vector<const PublishedTable*> entries;
  if (const auto* own = facts.find(table.schema, table.name)) entries.push_back(own);
  for (const auto& leaf : table.leaves) {
    const auto [schema, name] = split_table(leaf);
    if (const auto* entry = facts.find(schema, name)) entries.push_back(entry);
  }
  return entries;
}

std::string add_remedy(const std::string& publication, const std::string& table) {
  return fmt::format("ALTER PUBLICATION {} ADD TABLE {};", quote_identifier(publication), quote_table(table));
}

// In one transaction, so that no row falls between.
std::string publish_anew(const std::string& publication, const PublicationTable& table) {
  return fmt::format("BEGIN; ALTER PUBLICATION {} DROP TABLE {}; {}; COMMIT;", quote_identifier(publication),
                     quote_table(table.table), add_table_sql(publication, table));
}

void check_filters(const std::string& publication, const PublicationInfo& facts, const TableInfo& table,
                   std::vector<Problem>& problems) {
  for (const auto* entry : entries_of(facts, table)) {
    if (entry->row_filter.empty()) continue;
    problems.push_back({fmt::format("publication \"{}\" leaves out rows of \"{}.{}\": its row filter is {}",
                                    publication, entry->schema, entry->name, entry->row_filter),
                        fmt::format("if every row is to be published: {}",
                                    publish_anew(publication, {full_name(table), entry->column_list}))});
  }
}

}  // namespace

std::vector<Problem> coverage_problems(const std::string& publication, const PublicationInfo& facts,
                                       const TableInfo& table) {
  std::vector<Problem> problems;
  check_filters(publication, facts, table, problems);
  const auto name = full_name(table);
  if (publishes(facts, name)) return problems;
  for (const auto& ancestor : table.ancestors) {
    if (!facts.via_root || !publishes(facts, ancestor)) continue;
    problems.push_back({fmt::format("rows of \"{}\" come under the name of its partitioned table \"{}\" "
                                    "(publish_via_partition_root)",
                                    name, ancestor),
                        fmt::format("name \"{}\" as the [[outbox]] table", ancestor)});
    return problems;
  }
  std::vector<std::string> missing;
  for (const auto& leaf : table.leaves) {
    if (!publishes(facts, leaf)) missing.push_back(leaf);
  }
  const bool member = std::find(facts.members.begin(), facts.members.end(), name) != facts.members.end();
  if (member || facts.all_tables || (table.kind == 'p' && !table.leaves.empty() && missing.empty())) return problems;
  if (missing.empty() || missing.size() == table.leaves.size()) {
    problems.push_back({fmt::format("publication \"{}\" does not publish table \"{}\"", publication, name),
                        add_remedy(publication, name)});
  } else {
    problems.push_back(
        {fmt::format("publication \"{}\" lacks partitions of \"{}\": {}", publication, name, join(missing, ", ")),
         add_remedy(publication, name)});
  }
  return problems;
}

std::optional<Problem> detachment_problem(const std::string& publication, const PublicationInfo& facts,
                                          const TableInfo& table) {
  const auto name = full_name(table);
  if (table.kind != 'p' || table.leaves.empty() || publishes(facts, name)) return std::nullopt;
  const auto is_member = [&](const std::string& one) {
    return std::find(facts.members.begin(), facts.members.end(), one) != facts.members.end();
  };
  std::vector<std::string> leaves;
  for (const auto& leaf : table.leaves) {
    if (is_member(leaf)) leaves.push_back(quote_table(leaf));
  }
  if (is_member(name) && leaves.empty()) return std::nullopt;  // what is detached is not published any more
  const auto alter = fmt::format("ALTER PUBLICATION {}", quote_identifier(publication));
  const auto add = is_member(name) ? "" : fmt::format(" {} ADD TABLE {};", alter, quote_table(name));
  return Problem{fmt::format("publication \"{}\" goes on publishing a partition of \"{}\" that is detached, as a table "
                             "that no [[outbox]] names: rows of it that were not read before are passed over",
                             publication, name),
                 leaves.empty() ? fmt::format("{} SET (publish_via_partition_root = true);", alter)
                                : fmt::format("BEGIN; {} DROP TABLE {};{} COMMIT;", alter, join(leaves, ", "), add)};
}

std::vector<Problem> column_list_problems(const std::string& publication, const PublicationInfo& facts,
                                          const TableInfo& table, const std::vector<std::string>& mapped) {
  std::vector<Problem> problems;
  for (const auto* entry : entries_of(facts, table)) {
    if (entry->column_list.empty()) continue;
    std::vector<std::string> missing;
    auto list = entry->column_list;
    for (const auto& column : mapped) {
      if (std::find(list.begin(), list.end(), column) != list.end()) continue;
      missing.push_back(column);
      list.push_back(column);
    }
    if (missing.empty()) continue;
    problems.push_back(
        {fmt::format("publication \"{}\" has a column list for \"{}.{}\" without what the mapping needs: {}",
                     publication, entry->schema, entry->name, join(missing, ", ")),
         publish_anew(publication, {full_name(table), list})});
  }
  return problems;
}

std::vector<Problem> slot_problems(const SlotInfo& slot, const ServerInfo& server) {
  const auto elsewhere = fmt::format(
      "drop it (SELECT pg_drop_replication_slot({});) if nobody needs it, or choose another name "
      "with --slot",
      quote_literal(slot.name));
  if (slot.type != "logical") return {{fmt::format("slot \"{}\" is a physical one", slot.name), elsewhere}};
  if (slot.plugin != "pgoutput") {
    return {{fmt::format("slot \"{}\" uses the plugin {}, not pgoutput", slot.name, slot.plugin), elsewhere}};
  }
  if (slot.database != server.database) {
    return {
        {fmt::format("slot \"{}\" belongs to database \"{}\", not \"{}\"", slot.name, slot.database, server.database),
         "connect to that database, or choose another name with --slot"}};
  }
  if (slot.lost()) {
    const auto reason =
        slot.invalidation_reason.empty() ? "max_slot_wal_keep_size was exceeded" : slot.invalidation_reason;
    return {
        {fmt::format("slot \"{}\" is lost ({}): events since {} that were not delivered can no longer be read from it",
                     slot.name, reason, slot.confirmed_lsn ? slot.confirmed_lsn->to_string() : "an unknown position"),
         "walrelay recover makes it anew and publishes the missing rows from the table"}};
  }
  if (slot.synced && server.in_recovery) {
    return {{fmt::format("slot \"{}\" is a copy that is kept up to date on a standby", slot.name),
             "connect to the primary, or promote this server"}};
  }
  if (slot.temporary) {
    return {{fmt::format("slot \"{}\" is temporary: it goes with its session", slot.name), elsewhere}};
  }
  return {};
}

std::vector<Problem> mapping_faults(const OutboxRules& rules, const TableInfo& table) {
  std::vector<Problem> problems;
  for (auto& text : mapping_problems(rules, table.columns)) {
    const bool generated = std::any_of(table.generated_columns.begin(), table.generated_columns.end(),
                                       [&](const auto& name) { return text.find(name) != std::string::npos; });
    problems.push_back(
        {std::move(text), generated ? "a generated column is not in the stream: map the columns that it is made of"
                                    : "adjust the [[outbox]] or the table; walrelay init proposes a preset"});
  }
  return problems;
}

std::vector<Problem> table_problems(const TableInfo& table) {
  const auto name = full_name(table);
  if (table.persistence != 'p') {
    return {{fmt::format("table \"{}\" is {}: its rows are not in the WAL, so nothing can be relayed", name,
                         table.persistence == 'u' ? "unlogged" : "temporary"),
             fmt::format("ALTER TABLE {} SET LOGGED;", quote_table(name))}};
  }
  if (table.kind != 'r' && table.kind != 'p') {
    return {{fmt::format("\"{}\" is a view or a foreign table, which cannot be published", name),
             "name the table that rows are inserted into"}};
  }
  return {};
}

}  // namespace walrelay
