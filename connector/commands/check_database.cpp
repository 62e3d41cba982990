// The part of `check` that asks PostgreSQL.

#include <fmt/format.h>

#include <algorithm>

#include "connector/commands/check.h"
#include "connector/commands/command_support.h"
#include "connector/commands/publication_check.h"
#include "connector/commands/retention_check.h"
#include "connector/postgres/admin_sql.h"
#include "connector/postgres/catalog.h"
#include "connector/postgres/pg_quote.h"
#include "connector/postgres/slot_admin.h"
#include "connector/postgres/write_back_catalog.h"
#include "connector/postgres/write_back_sql.h"
#include "decoder/mapping_check.h"
#include "decoder/rule_error.h"

namespace walrelay {
namespace {

void add_problems(Findings& findings, std::string_view check, const std::vector<Problem>& problems) {
  for (const auto& problem : problems) findings.error(check, problem.what, problem.remedy);
}

void check_version(Findings& findings, const ServerInfo& server, const Config& config) {
  const auto text = fmt::format("PostgreSQL {}", server.version);
  const bool messages = std::any_of(config.outboxes.begin(), config.outboxes.end(),
                                    [](const OutboxRules& rules) { return !rules.messages.empty(); });
  if (server.version_number < 130'000) {
    findings.error("server.version", text + " is too old", "upgrade to PostgreSQL 14 or later");
  } else if (server.version_number < 140'000 && messages) {
    findings.error("server.version", text + " does not send pg_logical_emit_message to pgoutput",
                   "upgrade to PostgreSQL 14 or later, or use an outbox table");
  } else if (server.version_number < 140'000) {
    findings.warning("server.version", text + " is supported as far as it goes", "upgrade to PostgreSQL 14 or later");
  } else {
    findings.ok("server.version", text);
  }
}

void check_settings(Findings& findings, const ServerInfo& server) {
  if (server.wal_level == "logical") {
    findings.ok("server.wal_level", "wal_level is logical");
  } else {
    findings.error("server.wal_level", fmt::format("wal_level is {}", server.wal_level),
                   "ALTER SYSTEM SET wal_level = 'logical'; then restart the server");
  }
  if (server.in_recovery) {
    findings.warning("server.recovery", "the server is a standby",
                     "connect to the primary, unless the slot was made here");
  }
}

void check_room(Findings& findings, const ServerInfo& server, const std::optional<SlotInfo>& slot) {
  if (!slot && server.slots_used >= server.slots_max) {
    findings.error(
        "server.slots", fmt::format("all {} replication slots are in use", server.slots_max),
        "drop one that nobody needs (walrelay status lists them), or raise max_replication_slots and restart");
  } else {
    findings.ok("server.slots",
                fmt::format("{} of {} replication slots are in use", server.slots_used, server.slots_max));
  }
  const bool streams = slot && slot->active;
  if (!streams && server.senders_used >= server.senders_max) {
    findings.error("server.senders", fmt::format("all {} WAL senders are in use", server.senders_max),
                   "end a replication connection that nobody needs, or raise max_wal_senders and restart");
  } else {
    findings.ok("server.senders",
                fmt::format("{} of {} WAL senders are in use", server.senders_used, server.senders_max));
  }
}

void check_mapping(Findings& findings, const OutboxRules& rules, const TableInfo& table) {
  const auto faults = mapping_faults(rules, table);
  add_problems(findings, "mapping", faults);
  if (faults.empty()) findings.ok("mapping", fmt::format("the columns of \"{}\" fit the mapping", rules.table));
}

void check_published(Findings& findings, const Config& config, const PublicationInfo& publication,
                     const OutboxRules& rules, const TableInfo& table) {
  const auto& name = config.postgres.publication;
  const auto gaps = coverage_problems(name, publication, table);
  add_problems(findings, "publication.table", gaps);
  if (gaps.empty())
    findings.ok("publication.table", fmt::format("publication \"{}\" publishes \"{}\"", name, rules.table));
  if (const auto problem = detachment_problem(name, publication, table); problem && gaps.empty())
    findings.warning("publication.partitions", problem->what, problem->remedy);
  std::vector<std::string> mapped;
  for (auto& column : mapped_columns(rules)) {
    const bool there =
        std::any_of(table.columns.begin(), table.columns.end(), [&](const auto& c) { return c.name == column; });
    if (there) mapped.push_back(std::move(column));
  }
  add_problems(findings, "publication.columns", column_list_problems(name, publication, table, mapped));
}

void check_write_back(Findings& findings, PgConnection& connection, const OutboxRules& rules, const TableInfo& table,
                      const std::string& role) {
  if (!rules.writes_back() || !write_back_problems(rules, table.columns).empty()) return;  // said by check_mapping()
  if (may_write_back(connection, rules, role)) {
    findings.ok("write_back.rights", fmt::format("role \"{}\" may write back to \"{}\"", role, rules.table));
  } else {
    findings.error(
        "write_back.rights",
        fmt::format("role \"{}\" may not write back to \"{}\": its rows would not be marked", role, rules.table),
        grant_write_back_sql(rules, role) + ";");
  }
  if (const auto moving = moving_column(rules, read_write_back_columns(connection, rules)); !moving.empty()) {
    findings.error(
        "write_back.columns",
        fmt::format("column \"{}\" of \"{}\" is in its partition key: writing to it would move the row, which "
                    "the server would send as a new one, so that its rows are not written to",
                    moving, rules.table),
        "partition the table by another column, or do not name this one in the [[outbox]]");
  }
  if (has_index_on_id(connection, rules)) return;
  const auto id = quote_identifier(row_id_column(rules));
  findings.warning(
      "write_back.index",
      fmt::format("\"{}\" has no index on {}: each batch that is written back reads the whole table", rules.table, id),
      fmt::format("CREATE INDEX CONCURRENTLY ON {} ({});", quote_table(rules.table), id));
}

void check_table(Findings& findings, PgConnection& connection, const Config& config,
                 const std::optional<PublicationInfo>& publication, const OutboxRules& rules, const std::string& role) {
  const auto table = read_table(connection, rules.table);
  if (!table) {
    auto similar = similar_tables(connection, rules.table);
    if (auto near = nearest_table(connection, rules.table); similar.empty() && !near.empty())
      similar.push_back(std::move(near));
    findings.error("table", fmt::format("there is no table \"{}\"", rules.table),
                   similar.empty()
                       ? "walrelay init makes one of a preset"
                       : fmt::format("did you mean {}? Write the name exactly as in the catalog", join(similar, ", ")));
    return;
  }
  const auto unfit = table_problems(*table);
  add_problems(findings, "table", unfit);
  if (unfit.empty()) findings.ok("table", fmt::format("table \"{}\" exists", rules.table));
  check_mapping(findings, rules, *table);
  check_write_back(findings, connection, rules, *table, role);
  if (publication) check_published(findings, config, *publication, rules, *table);
  check_retention(findings, connection, rules);
}

void check_publication(Findings& findings, const Config& config, const std::optional<PublicationInfo>& publication) {
  const auto& name = config.postgres.publication;
  if (!publication) {
    findings.error("publication", fmt::format("there is no publication \"{}\" in this database", name),
                   "walrelay init makes it; letter case counts");
    return;
  }
  if (!publication->inserts) {
    findings.error("publication", fmt::format("publication \"{}\" does not publish inserts", name),
                   fmt::format("ALTER PUBLICATION {} SET (publish = 'insert');", quote_identifier(name)));
    return;
  }
  findings.ok("publication", fmt::format("publication \"{}\" publishes inserts", name));
  if (publication->other_actions.empty()) return;
  findings.warning("publication.superfluous",
                   fmt::format("publication \"{}\" also publishes {}, which is decoded and sent for nothing", name,
                               join(publication->other_actions, ", ")),
                   fmt::format("ALTER PUBLICATION {} SET (publish = 'insert');", quote_identifier(name)));
}

void check_age(Findings& findings, PgConnection& connection, const SlotInfo& slot, const std::string& publication) {
  switch (compare_ages(connection, slot, publication)) {
    case PublicationAge::fits:
      findings.ok("publication.age",
                  fmt::format("publication \"{}\" is older than what slot \"{}\" sends next", publication, slot.name));
      return;
    case PublicationAge::too_young:
      findings.error(
          "publication.age",
          fmt::format("publication \"{}\" is younger than the position of slot \"{}\": what was inserted before it "
                      "was made cannot be decoded",
                      publication, slot.name),
          fmt::format("walrelay recover makes the slot anew and publishes the rows from before from the table; or, "
                      "giving up what lies between, SELECT pg_replication_slot_advance({}, pg_current_wal_lsn());",
                      quote_literal(slot.name)));
      return;
    case PublicationAge::unknown:
      findings.warning(
          "publication.age",
          fmt::format("whether publication \"{}\" is older than the position of slot \"{}\" could not be told: the "
                      "slot is in use, or there is much to look through",
                      publication, slot.name),
          "check again while no relay is connected");
      return;
  }
}

// What a failover does to the slot.
void check_failover(Findings& findings, const ServerInfo& server, const SlotInfo& slot) {
  constexpr auto kCheck = "slot.failover";
  if (server.version_number < 170'000) {
    const auto text =
        fmt::format("PostgreSQL {} has no failover slots: after a failover the slot is not there", server.version);
    if (!server.has_standby) return findings.ok(kCheck, text + "; no standby is known");
    return findings.warning(kCheck, text, "after a failover: walrelay recover; or upgrade to PostgreSQL 17 or later");
  }
  if (!slot.failover) {
    const auto text = fmt::format("slot \"{}\" is no failover slot: standbys keep no copy of it", slot.name);
    if (!server.has_standby) return findings.ok(kCheck, text + "; no standby is known");
    return findings.warning(kCheck, text, "walrelay init --failover");
  }
  findings.ok(kCheck, fmt::format("slot \"{}\" is a failover slot", slot.name));
  if (!server.has_standby || !server.synchronized_standby_slots.empty()) return;
  findings.warning("server.synchronized_standby_slots",
                   "synchronized_standby_slots is empty: events can be published that a standby does not have yet, and "
                   "would not have if it were promoted then",
                   "ALTER SYSTEM SET synchronized_standby_slots = 'the standby''s physical slot'; at the price of "
                   "waiting for it");
}

// Only slot_problems() that are none leave something to look at.
void check_usable_slot(Findings& findings, PgConnection& connection, const SlotInfo& slot, const Config& config,
                       bool publication_exists) {
  findings.ok("slot", fmt::format("slot \"{}\" is there, confirmed up to {}", slot.name,
                                  slot.confirmed_lsn ? slot.confirmed_lsn->to_string() : "an unknown position"));
  if (slot.wal_status == "unreserved") {
    findings.warning(
        "slot.wal",
        fmt::format("slot \"{}\" is about to be lost: more WAL is behind it than max_slot_wal_keep_size allows",
                    slot.name),
        "start the relay now, or raise max_slot_wal_keep_size");
  }
  if (slot.active) {
    findings.warning("slot.active", fmt::format("slot \"{}\" is in use by {}", slot.name, describe_user(slot)),
                     "none needed if that is a relay: a second one stands by and takes over");
    return;  // what it has decoded so far shows that the publication is old enough
  }
  if (publication_exists) check_age(findings, connection, slot, config.postgres.publication);
}

void check_slot(Findings& findings, PgConnection& connection, const ServerInfo& server,
                const std::optional<SlotInfo>& slot, const Config& config, bool publication_exists) {
  if (!slot) {
    findings.error("slot", fmt::format("there is no replication slot \"{}\"", config.postgres.slot),
                   "walrelay init makes it, or walrelay recover if there was one; run never does, as it could not "
                   "tell what was missed");
    return;
  }
  const auto problems = slot_problems(*slot, server);
  add_problems(findings, "slot", problems);
  if (!problems.empty()) return;
  check_usable_slot(findings, connection, *slot, config, publication_exists);
  check_failover(findings, server, *slot);
}

void check_all(Findings& findings, PgConnection& connection, const Config& config) {
  findings.ok("server.connect", fmt::format("connected ({}), {}", connection.target().to_string(),
                                            connection.tls() ? "with TLS" : "without TLS"));
  const auto server = read_server(connection);
  check_version(findings, server, config);
  check_settings(findings, server);
  const auto slot = read_slot(connection, config.postgres.slot);
  check_room(findings, server, slot);
  const auto publication = read_publication(connection, config.postgres.publication);
  check_publication(findings, config, publication);
  for (const auto& rules : config.outboxes) {
    if (!rules.table.empty()) check_table(findings, connection, config, publication, rules, server.user);
  }
  check_slot(findings, connection, server, slot, config, publication.has_value());
}

// What a statement of the check itself was refused for.
std::string query_remedy(const PgError& error, const std::string& role) {
  if (!error.remedy().empty() || error.sqlstate() != "42501") return error.remedy();
  if (error.reason().find("replication") != std::string::npos) return alter_role_sql(role) + ";";
  return fmt::format("give role {} that right", quote_identifier(role));
}

}  // namespace

Findings check_database(const Config& config) {
  Findings findings;
  std::string role;
  try {
    PgConnection connection(query_conninfo(config));
    role = connection.target().user;
    check_all(findings, connection, config);
  } catch (const PgError& error) {
    findings.error(findings.list().empty() ? "server.connect" : "server.query", error.reason(),
                   query_remedy(error, role));
  } catch (const RuleError& error) {
    findings.error("mapping", error.what(), "correct the [[outbox]]");
  }
  return findings;
}

Findings check_replication(const Config& config) {
  Findings findings;
  try {
    PgConnection connection(replication_conninfo(config.postgres.dsn, config.postgres.slot));
    connection.exec_simple("IDENTIFY_SYSTEM");
    findings.ok("replication.connect", "a replication connection is let in");
  } catch (const PgError& error) {
    if (error.sqlstate() ==
        "42601") {  // the parameter did not get through: an ordinary session does not know the command
      findings.error(
          "replication.connect", "a connection pooler answers at this address and does not pass replication on",
          "set postgres.dsn to the PostgreSQL server itself; ordinary queries may use the pooler: postgres.query_dsn");
    } else {
      findings.error("replication.connect", error.reason(), error.remedy());
    }
  }
  return findings;
}

}  // namespace walrelay
