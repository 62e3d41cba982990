#include "connector/postgres/slot_verdict.h"

#include <fmt/format.h>

#include <utility>

namespace walrelay {

namespace {

using Kind = SlotVerdict::Kind;

// Of a failover slot it has a copy, which may be used once the server is promoted.
SlotVerdict judge_standby(const ServerFacts& facts, const std::string& name) {
  return {Kind::not_yet,
          fmt::format("the server is a standby and {} slot \"{}\"; waiting for its promotion; with several hosts, "
                      "target_session_attrs=read-write in postgres.dsn finds the primary",
                      facts.slot ? "only keeps a copy of" : "does not have", name)};
}

}  // namespace

SlotVerdict judge_slot(const ServerFacts& facts, const std::string& name, const std::string& publication,
                       bool messages) {
  if (messages && facts.version < 140'000) {
    return {Kind::unusable,
            fmt::format("PostgreSQL {} does not send pg_logical_emit_message to pgoutput, so that messages would be "
                        "passed over; upgrade to PostgreSQL 14 or later, or use an outbox table",
                        facts.version / 10'000)};
  }
  if (facts.in_recovery && (!facts.slot || facts.slot->synced)) return judge_standby(facts, name);
  if (facts.wal_level != "logical") {
    return {Kind::unusable,
            fmt::format("wal_level is {}; set wal_level = logical in postgresql.conf and restart the server",
                        facts.wal_level)};
  }
  if (!facts.slot) {
    return {Kind::lost,
            fmt::format(
                "slot \"{}\" does not exist (server position {}); what was committed since it was there is in no slot; "
                "`walrelay recover` makes it anew and publishes the missing rows from the table (the first slot ever: "
                "`walrelay init`)",
                name, facts.position.to_string())};
  }
  const SlotFacts& slot = *facts.slot;
  if (!slot.logical || slot.plugin != "pgoutput") {
    return {
        Kind::unusable,
        fmt::format(
            "slot \"{}\" is not a logical slot of the plugin pgoutput (plugin \"{}\"); choose another name, or drop "
            "it and run `walrelay init`",
            name, slot.plugin)};
  }
  if (slot.database != facts.database) {
    return {Kind::unusable,
            fmt::format(
                "slot \"{}\" belongs to database \"{}\", the connection to \"{}\"; correct dbname or the slot's name",
                name, slot.database, facts.database)};
  }
  if (slot.wal_status == "lost") {
    return {
        Kind::lost,
        fmt::format(
            "slot \"{}\" is lost: the server removed WAL that it needed (confirmed up to {}, server at {}); events "
            "after that position may be missing; `walrelay recover` makes it anew and publishes the missing rows from "
            "the table",
            name, slot.confirmed.to_string(), facts.position.to_string())};
  }
  if (slot.active) {
    return {Kind::taken,
            fmt::format("slot \"{}\" is in use by the connection with PID {}; standing by", name, slot.active_pid)};
  }
  auto fault = publication_fault(facts, publication);
  return {fault.empty() ? Kind::usable : Kind::unusable, std::move(fault)};
}

std::string publication_fault(const ServerFacts& facts, const std::string& publication) {
  if (!facts.publication_exists) {
    return fmt::format(
        "publication \"{}\" does not exist in database \"{}\"; `walrelay init` makes publication and slot in the right "
        "order (a publication made after the slot does not cover what the slot already holds)",
        publication, facts.database);
  }
  if (facts.publishes_inserts) return "";
  return fmt::format(
      "publication \"{0}\" does not publish inserts; remedy: ALTER PUBLICATION \"{0}\" SET (publish = 'insert')",
      publication);
}

bool publication_missing_in_history(const SourceError& error) {
  return (error.sqlstate == "42704" || error.sqlstate == "55000") &&
         error.message.find("publication") != std::string::npos;
}

std::string publication_younger_than_slot(const SourceError& error, const PostgresOptions& postgres) {
  return fmt::format(
      "{}: publication \"{}\" did not exist yet at the position that slot \"{}\" stands at; making it now does not "
      "help. Either make the slot anew and publish the rows from before from the table (`walrelay recover`), or move "
      "it "
      "on with SELECT "
      "pg_replication_slot_advance('{}', pg_current_wal_lsn()) and lose what was committed up to there",
      error.message, postgres.publication, postgres.slot, postgres.slot);
}

std::string row_cannot_be_sent(const SourceError& error, const std::string& slot, Lsn received,
                               const std::optional<TransactionStart>& transaction, std::uint64_t events) {
  if (!transaction) {
    return fmt::format(
        "{}: the server cannot send a row of the first transaction that ends after {}: as text it is larger than a "
        "message of 1 GB; find that transaction, and go past it with SELECT pg_replication_slot_advance('{}', LSN)",
        error.message, received.to_string(), slot);
  }
  return fmt::format(
      "{}: the server cannot send a row of transaction {} (commit at {}), the one after its first {} events: as text "
      "it "
      "is larger than a message of 1 GB; nothing from this transaction on is confirmed; publish its other events from "
      "the table, and go past it with SELECT pg_replication_slot_advance('{}', '{}')",
      error.message, transaction->xid, transaction->commit_lsn.to_string(), events, slot,
      Lsn{transaction->commit_lsn.value + 1}.to_string());
}

}  // namespace walrelay
