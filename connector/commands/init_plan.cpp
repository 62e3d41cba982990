#include "connector/commands/init_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "connector/commands/command_support.h"
#include "connector/postgres/pg_quote.h"
#include "connector/postgres/table_rows.h"
#include "connector/postgres/write_back_catalog.h"
#include "connector/postgres/write_back_sql.h"
#include "decoder/mapping_check.h"
#include "decoder/presets.h"
#include "decoder/rule_error.h"

namespace walrelay {
namespace {

constexpr std::string_view kDefaultPreset = "standard";

std::vector<ColumnInfo> columns_of(const Preset& preset) {
  std::vector<ColumnInfo> columns;
  for (const auto& column : preset.columns) {
    // The type is the definition's first word, but for the two types of several words.
    const auto type = column.definition.substr(0, column.definition.find(' '));
    const bool with_zone = type == "timestamptz" || column.definition.starts_with("timestamp with time zone");
    columns.push_back({std::string(column.name), with_zone ? "timestamp with time zone" : std::string(type)});
  }
  return columns;
}

std::string list_presets() {
  std::string text;
  for (const auto& preset : presets()) {
    std::vector<std::string> required;
    for (const auto& column : preset.columns) {
      if (column.required) required.emplace_back(column.name);
    }
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", preset.name, join(required, ", "));
  }
  return text;
}

bool has_mapping(const OutboxRules& rules) { return rules.topic.has_value() && rules.value.has_value(); }

class Planner {
 public:
  Planner(PgConnection& connection, const Config& config, const InitFlags& flags, SlotPlan slot)
      : connection_(connection), config_(config), flags_(flags), slot_plan_(slot) {}

  InitPlan plan() {
    plan_.server = read_server(connection_);
    check_server();
    check_messages();
    check_failover();
    for (const auto& rules : config_.outboxes) plan_outbox(rules);
    plan_role();
    plan_retention_rights();
    plan_write_back();
    plan_publication();
    plan_slot();
    return std::move(plan_);
  }

 private:
  void problem(std::string what, std::string remedy) { plan_.problems.push_back({std::move(what), std::move(remedy)}); }

  void check_server() {
    if (plan_.server.wal_level != "logical") {
      problem(fmt::format("the server's wal_level is {}", plan_.server.wal_level),
              "ALTER SYSTEM SET wal_level = 'logical'; then restart the server");
    }
    if (plan_.server.in_recovery) problem("the server is a standby", "connect to the primary");
    if (flags_.column_list && plan_.server.version_number < 150'000) {
      problem(fmt::format("column lists need PostgreSQL 15, this is {}", plan_.server.version),
              "leave out --column-list");
    }
  }

  void check_messages() {
    const bool wanted = std::any_of(config_.outboxes.begin(), config_.outboxes.end(),
                                    [](const OutboxRules& rules) { return !rules.messages.empty(); });
    if (!wanted || plan_.server.version_number >= 140'000) return;
    problem(fmt::format("PostgreSQL {} does not send pg_logical_emit_message to pgoutput", plan_.server.version),
            "upgrade to PostgreSQL 14 or later, or use an outbox table");
  }

  void check_failover() {
    if (!flags_.failover || plan_.server.version_number >= 170'000) return;
    problem(fmt::format("failover slots need PostgreSQL 17, this is {}", plan_.server.version),
            "leave out --failover; after a failover the slot has to be made anew, and what was committed in between "
            "published from the table");
  }

  void plan_outbox(OutboxRules rules) {
    if (rules.table.empty()) {  // messages need no table
      fill_from_preset(rules);
      plan_.outboxes.push_back({std::move(rules), {}});
      return;
    }
    const auto table = read_table(connection_, rules.table);
    if (!flags_.preset.empty()) rules.preset = flags_.preset;
    if (table) {
      plan_existing(std::move(rules), *table);
    } else {
      plan_missing(std::move(rules));
    }
  }

  void plan_existing(OutboxRules rules, const TableInfo& table) {
    for (auto& found : table_problems(table)) plan_.problems.push_back(std::move(found));
    if (rules.preset.empty() && !has_mapping(rules) && !propose(rules, table)) return;
    finish_mapping(rules, table.columns, "adjust the mapping, or choose another --preset");
    if (flags_.backfill && flags_.backfill->rows != BackfillChoice::Rows::none) check_backfill(rules);
    plan_.kept.push_back(fmt::format("table {}", quote_table(rules.table)));
    via_root_ = via_root_ || table.kind == 'p';
    existing_.push_back(table);
    add_table(std::move(rules), table.columns);
  }

  bool propose(OutboxRules& rules, const TableInfo& table) {
    const auto* preset = propose_preset(table.columns);
    if (preset == nullptr) {
      problem(fmt::format("no preset fits the columns of table \"{}\"; there are {}", rules.table, list_presets()),
              "write the mapping: id, topic, key and value of this [[outbox]] as templates of its columns");
      return false;
    }
    rules.preset = preset->name;
    plan_.hints.push_back(fmt::format("table \"{}\" looks like preset {}", rules.table, preset->name));
    return true;
  }

  void plan_missing(OutboxRules rules) {
    const auto similar = similar_tables(connection_, rules.table);
    if (!similar.empty()) {
      problem(fmt::format("there is no table \"{}\", but there is {}", rules.table, join(similar, ", ")),
              "write the name exactly as in the catalog, letter case included, with its schema");
      return;
    }
    const auto schema = split_table(rules.table).schema;
    if (connection_.exec("SELECT FROM pg_namespace WHERE nspname = $1", {schema}).empty()) {
      problem(
          fmt::format("there is no table \"{}\", and no schema \"{}\" in which it could be made", rules.table, schema),
          fmt::format("write the name exactly as in the catalog, or CREATE SCHEMA {};", quote_identifier(schema)));
      return;
    }
    if (const auto near = nearest_table(connection_, rules.table); !near.empty()) {
      plan_.hints.push_back(fmt::format(
          "warning: there is no table \"{}\", so a new one is made; if \"{}\" was meant: DROP TABLE {}; and init again",
          rules.table, near, quote_table(rules.table)));
    }
    if (rules.preset.empty()) rules.preset = kDefaultPreset;
    fill_from_preset(rules);
    const auto* preset = find_preset(rules.preset);
    const auto columns = columns_of(*preset);
    finish_mapping(rules, columns, fmt::format("create table {} yourself", quote_table(rules.table)));
    plan_.steps.push_back({create_table_sql(rules.table, *preset),
                           fmt::format("table {} (preset {})", quote_table(rules.table), rules.preset)});
    add_table(std::move(rules), columns);
  }

  void finish_mapping(OutboxRules& rules, const std::vector<ColumnInfo>& columns, const std::string& remedy) {
    fill_from_preset(rules);
    for (auto& text : mapping_problems(rules, columns)) problem(std::move(text), remedy);
  }

  // Whether the rows can be read and chosen. Throws RuleError if the mapping lacks the column.
  void check_backfill(const OutboxRules& rules) {
    static_cast<void>(make_row_query(rules, read_row_table(connection_, rules.table), flags_.backfill->filter()));
    const auto allowed =
        connection_.exec("SELECT has_table_privilege($1, 'SELECT') AS allowed", {quote_table(rules.table)});
    if (allowed[0].flag("allowed")) return;
    problem(fmt::format("role \"{}\" may not read table \"{}\", as a backfill has to", plan_.server.user, rules.table),
            fmt::format("GRANT SELECT ON {} TO {};", quote_table(rules.table), quote_identifier(plan_.server.user)));
  }

  void add_table(OutboxRules rules, const std::vector<ColumnInfo>& columns) {
    PublicationTable table{rules.table, {}};
    for (const auto& name : flags_.column_list ? mapped_columns(rules) : std::vector<std::string>()) {
      const bool there =
          std::any_of(columns.begin(), columns.end(), [&](const ColumnInfo& c) { return c.name == name; });
      if (there) table.columns.push_back(name);
    }
    tables_.push_back(std::move(table));
    plan_.outboxes.push_back({std::move(rules), columns});
  }

  void plan_role() {
    const auto& name = flags_.role.empty() ? plan_.server.user : flags_.role;
    const auto role = read_role(connection_, name);
    if (!role) {
      plan_.steps.push_back(
          {create_role_sql(name), fmt::format("role {}", quote_identifier(name)), who_may_give_replication()});
      plan_.hints.push_back(
          fmt::format("role \"{}\" has no password yet: \\password {}", name, quote_identifier(name)));
    } else if (!role->replication && flags_.role.empty()) {
      // Managed services give the right by membership instead; whether it is there shows when the slot is made.
      plan_.hints.push_back(fmt::format("role \"{}\" has no REPLICATION attribute: {};", name, alter_role_sql(name)));
    } else if (!role->replication || !role->login) {
      plan_.steps.push_back({alter_role_sql(name),
                             fmt::format("LOGIN and REPLICATION of role {}", quote_identifier(name)),
                             who_may_give_replication()});
    } else {
      plan_.kept.push_back(fmt::format("role {}", quote_identifier(name)));
    }
    if (role && flags_.role.empty() && is_superuser(name)) {
      plan_.hints.push_back(
          fmt::format("warning: the relay is to log in as \"{}\", a superuser; --role NAME makes a role with no more "
                      "rights than it needs, and proposes that one",
                      name));
    }
    if (role && role->may_connect) return;
    plan_.steps.push_back({grant_connect_sql(name, plan_.server.database),
                           fmt::format("the right of role {} to connect", quote_identifier(name))});
  }

  [[nodiscard]] std::string who_may_give_replication() const {
    return plan_.server.version_number >= 160'000
               ? "run init as a superuser or as a role with CREATEROLE and REPLICATION"
               : "run init as a superuser (before PostgreSQL 16 nobody else may make a role with REPLICATION)";
  }

  [[nodiscard]] bool is_superuser(const std::string& role) {
    return !connection_.exec("SELECT FROM pg_roles WHERE rolname = $1::name AND rolsuper", {role}).empty();
  }

  // Of a role other than the one that is at work here, which is the table's owner as a rule.
  void plan_retention_rights() {
    const auto& name = flags_.role;
    if (name.empty() || name == plan_.server.user) return;
    for (const auto& [rules, columns] : plan_.outboxes) {
      if (!rules.retention.wanted() || may_delete(name, rules.table)) continue;
      plan_.steps.push_back({grant_on_table_sql("SELECT, DELETE", rules.table, name),
                             fmt::format("the right of role {} to delete old rows of {}", quote_identifier(name),
                                         quote_table(rules.table))});
    }
  }

  // False where role or table is yet to be made.
  [[nodiscard]] bool may_delete(const std::string& role, const std::string& table) {
    const auto rows = connection_.exec(
        "SELECT bool_and(has_table_privilege(r.oid, c.oid, privilege)) AS allowed FROM pg_roles r CROSS JOIN (SELECT "
        "to_regclass($2) AS oid) c CROSS JOIN unnest(ARRAY['SELECT', 'DELETE']) privilege WHERE r.rolname = $1::name",
        {role, quote_table(table)});
    return rows[0].flag("allowed");
  }

  // What the owner of the table, or a superuser, has anyhow need not be granted.
  void plan_write_back() {
    const auto& role = flags_.role.empty() ? plan_.server.user : flags_.role;
    for (const auto& [rules, columns] : plan_.outboxes) {
      if (rules.table.empty() || !rules.writes_back()) continue;
      if (may_write_back(connection_, rules, role)) continue;
      plan_.steps.push_back(
          {grant_write_back_sql(rules, role), fmt::format("the rights of role {} to write back to table {}",
                                                          quote_identifier(role), quote_table(rules.table))});
    }
  }

  void plan_publication() {
    const auto& name = config_.postgres.publication;
    const auto facts = read_publication(connection_, name);
    if (!facts) {
      new_publication_ = true;
      plan_.steps.push_back(
          {create_publication_sql(name, tables_, via_root_),
           fmt::format("publication {} (inserts only)", quote_identifier(name)),
           fmt::format("run init as the table's owner, with CREATE on the database (GRANT CREATE ON "
                       "DATABASE {} TO {}), or as an administrator",
                       quote_identifier(plan_.server.database), quote_identifier(plan_.server.user))});
      return;
    }
    plan_.kept.push_back(fmt::format("publication {}", quote_identifier(name)));
    if (!facts->inserts) {
      problem(fmt::format("publication \"{}\" does not publish inserts", name),
              fmt::format("ALTER PUBLICATION {} SET (publish = 'insert');", quote_identifier(name)));
    }
    if (!facts->other_actions.empty()) {
      plan_.hints.push_back(
          fmt::format("publication \"{}\" also publishes {}, which walrelay ignores: ALTER PUBLICATION {} SET "
                      "(publish = 'insert');",
                      name, join(facts->other_actions, ", "), quote_identifier(name)));
    }
    for (const auto& table : tables_) plan_published(*facts, table);
  }

  void plan_published(const PublicationInfo& facts, const PublicationTable& table) {
    const auto& name = config_.postgres.publication;
    const auto [schema, relation] = split_table(table.table);
    const auto found = std::find_if(existing_.begin(), existing_.end(),
                                    [&](const TableInfo& t) { return t.schema == schema && t.name == relation; });
    std::vector<Problem> problems;
    if (found != existing_.end()) problems = coverage_problems(name, facts, *found);
    const bool covered = found != existing_.end() && problems.empty();
    if (covered) return;
    const auto* entry = facts.find(schema, relation);
    if (facts.all_tables && found == existing_.end()) return;  // made by a step: published as soon as it is there
    if (entry != nullptr || facts.all_tables) {                // there, but with a row filter
      for (auto& item : problems) plan_.problems.push_back(std::move(item));
      return;
    }
    plan_.steps.push_back({add_table_sql(name, table), fmt::format("table {} in publication {}",
                                                                   quote_table(table.table), quote_identifier(name))});
  }

  void plan_slot() {
    const auto slot = read_slot(connection_, config_.postgres.slot);
    const bool replaces = slot_plan_ == SlotPlan::replace;
    plan_.make_slot = !slot || replaces;
    plan_.enable_failover = replaces ? slot && slot->failover : flags_.failover && !(slot && slot->failover);
    if (!slot && !flags_.backfill) mention_rows();
    if (!slot) return;
    for (auto& found : slot_problems(*slot, plan_.server)) {
      if (!replaces || !slot->lost()) plan_.problems.push_back(std::move(found));
    }
    if (replaces) return;
    if (flags_.backfill) {
      problem(
          fmt::format("slot \"{}\" is there already, and a backfill can only be done when a slot is made", slot->name),
          "walrelay recover makes it anew with a backfill, walrelay replay publishes rows again beside it; or choose "
          "another --slot");
    }
    plan_.kept.push_back(fmt::format("slot {}", quote_identifier(config_.postgres.slot)));
    plan_.slot_is_older = new_publication_;
  }

  // By the catalog's estimate; a table that was never looked at by ANALYZE or VACUUM has none.
  void mention_rows() {
    for (const auto& table : existing_) {
      const auto name = fmt::format("{}.{}", table.schema, table.name);
      const auto found = connection_.exec(
          "SELECT sum(greatest(c.reltuples, 0))::bigint AS rows, coalesce(bool_or(c.relpages = 0 AND "
          "pg_relation_size(c.oid) > 0), false) AS more FROM (SELECT $1::regclass AS oid UNION SELECT relid FROM "
          "pg_partition_tree($1::regclass)) t JOIN pg_class c USING (oid) WHERE c.relkind = 'r'",
          {quote_table(name)});
      const auto rows = found[0].is_null("rows") ? 0 : found[0].number("rows");
      if (rows == 0 && !found[0].flag("more")) continue;
      plan_.hints.push_back(fmt::format(
          "table \"{}\" has {}rows from before the slot, which are not published; --backfill {} publishes them", name,
          rows == 0 ? "" : fmt::format("about {} ", rows), join(backfills(name), " or ")));
    }
  }

  [[nodiscard]] static bool has_columns(const OutboxRules& rules, const RowTable& table, BackfillChoice::Rows rows) {
    try {
      static_cast<void>(make_row_query(rules, table, BackfillChoice{rows, 1}.filter()));
      return true;
    } catch (const RuleError&) {
      return false;
    }
  }

  // The choices for which the mapping has the columns.
  [[nodiscard]] std::vector<std::string> backfills(const std::string& table) {
    std::vector<std::string> choices = {"all"};
    const auto outbox = std::find_if(plan_.outboxes.begin(), plan_.outboxes.end(),
                                     [&](const OutboxProposal& proposal) { return proposal.rules.table == table; });
    if (outbox == plan_.outboxes.end()) return choices;
    const RowTable facts = read_row_table(connection_, table);
    const auto offer = [&](const OutboxRules& rules, BackfillChoice::Rows rows, std::string text) {
      if (has_columns(rules, facts, rows)) choices.push_back(std::move(text));
    };
    offer(outbox->rules, BackfillChoice::Rows::unprocessed, "unprocessed");
    for (const auto* column : {"processed_at", "ProcessedAt"}) {
      if (!outbox->rules.processed_at.empty()) break;
      OutboxRules with = outbox->rules;
      with.processed_at = column;
      offer(with, BackfillChoice::Rows::unprocessed,
            fmt::format("unprocessed (with --set outbox.{}.processed_at={})", outbox - plan_.outboxes.begin(), column));
    }
    offer(outbox->rules, BackfillChoice::Rows::since, "since=TIME");
    return choices;
  }

  PgConnection& connection_;
  const Config& config_;
  const InitFlags& flags_;
  const SlotPlan slot_plan_;
  InitPlan plan_;
  std::vector<PublicationTable> tables_;
  std::vector<TableInfo> existing_;
  bool via_root_ = false;
  bool new_publication_ = false;
};

}  // namespace

std::vector<OutboxRules> InitPlan::rules() const {
  std::vector<OutboxRules> all;
  all.reserve(outboxes.size());
  for (const auto& outbox : outboxes) all.push_back(outbox.rules);
  return all;
}

InitPlan plan_init(PgConnection& connection, const Config& config, const InitFlags& flags, SlotPlan slot) {
  return Planner(connection, config, flags, slot).plan();
}

}  // namespace walrelay
