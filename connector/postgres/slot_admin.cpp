#include "connector/postgres/slot_admin.h"

#include <fmt/format.h>

#include <algorithm>

#include "connector/clock.h"
#include "connector/postgres/admin_sql.h"
#include "connector/postgres/pg_quote.h"
#include "connector/postgres/pg_transaction.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPoll{200};
constexpr milliseconds kPeekTimeout{4'000};

std::string describe_transaction(const PgRow& row) {
  return fmt::format("pid {} (application \"{}\", role {}, {}, open for {} s, query: {})", row.number("pid"),
                     row.text("application_name"), row.text("role"), row.text("state"), row.number("age_seconds"),
                     one_line(row.text("query")));
}

PgRows give_up(PgConnection& creator, PgConnection& observer, const std::string& slot, const SlotPatience& patience) {
  const auto blockers = describe_blockers(observer, creator.backend_pid());
  observer.exec("SELECT pg_cancel_backend($1::int)", {std::to_string(creator.backend_pid())});
  if (!creator.wait(kQueryTimeout)) throw PgError("", "the statement that makes the slot could not be cancelled");
  try {
    return creator.take();  // made in the very last moment
  } catch (const PgError&) {
    throw PgError(
        "57014", fmt::format("gave up making slot \"{}\" after {} s; nothing was left behind. It has to wait for every "
                             "transaction that is writing: {}. End or finish it, then run init again",
                             slot, std::chrono::ceil<std::chrono::seconds>(patience.limit).count(), blockers));
  }
}

PgRows wait_for_slot(PgConnection& creator, PgConnection& observer, const std::string& slot, const Report& report,
                     const SlotPatience& patience) {
  const auto begin = steady_clock::now();
  auto next_report = begin + patience.first_report;
  while (!creator.wait(kPoll)) {
    const auto now = steady_clock::now();
    if (now - begin >= patience.limit) return give_up(creator, observer, slot, patience);
    if (now < next_report) continue;
    report(fmt::format("making slot \"{}\" waits since {} s for {}", slot,
                       std::chrono::floor<std::chrono::seconds>(now - begin).count(),
                       describe_blockers(observer, creator.backend_pid())));
    next_report = now + patience.next_reports;
  }
  return creator.take();
}

PgError explain_creation(const PgError& error, const std::string& slot, const std::string& role) {
  std::string remedy;
  if (error.sqlstate() == "55000") remedy = "set wal_level = logical in postgresql.conf and restart the server";
  if (error.sqlstate() == "53400") remedy = "drop a slot that nobody needs, or raise max_replication_slots and restart";
  if (error.sqlstate() == "42501") {
    remedy = fmt::format("{}, or run init as an administrator with --role", alter_role_sql(role));
  }
  return {error.sqlstate(), fmt::format("cannot make slot \"{}\": {}", slot, error.reason()), std::move(remedy)};
}

// The Begin message of the first transaction that the slot would send, if there is one: tag, commit LSN, commit time,
// xid.
PgRows peek_first(PgConnection& connection, const SlotInfo& slot, const std::string& publication) {
  const PgTransaction transaction(connection);
  connection.exec(fmt::format("SET LOCAL statement_timeout = {}", kPeekTimeout.count()));
  return connection.exec(
      "SELECT encode(substring(data FROM 10 FOR 8), 'hex') AS commit_time, (extract(epoch FROM clock_timestamp() - "
      "timestamptz '2000-01-01 00:00:00+00') * 1000000)::bigint AS now FROM pg_logical_slot_peek_binary_changes($1, "
      "NULL, 1, "
      "'proto_version', '1', 'publication_names', $2) WHERE get_byte(data, 0) = 66 LIMIT 1",
      {slot.name, quote_identifier(publication)});
}

// Too much to look through, or somebody else has taken the slot.
bool is_peek_in_vain(const PgError& error) { return error.sqlstate() == "57014" || error.sqlstate() == "55006"; }

}  // namespace

// A prepared transaction has no session: its pid is given as 0.
std::string describe_blockers(PgConnection& observer, int creator_pid) {
  const auto sessions = observer.exec(
      "SELECT pid, application_name, usename AS role, coalesce(state, 'state hidden') AS state, left(query, 120) AS "
      "query, "
      "coalesce(extract(epoch FROM clock_timestamp() - xact_start)::bigint, 0) AS age_seconds FROM pg_stat_activity "
      "WHERE pid = ANY (pg_blocking_pids($1::int)) ORDER BY xact_start",
      {std::to_string(creator_pid)});
  std::string text;
  for (int i = 0; i < sessions.size(); ++i) text += (i == 0 ? "" : "; ") + describe_transaction(sessions[i]);
  const auto prepared = observer.exec(
      "SELECT gid, extract(epoch FROM clock_timestamp() - prepared)::bigint AS age_seconds FROM pg_prepared_xacts "
      "WHERE 0 = ANY (pg_blocking_pids($1::int)) ORDER BY prepared",
      {std::to_string(creator_pid)});
  for (int i = 0; i < prepared.size(); ++i) {
    text += fmt::format("{}prepared transaction \"{}\" (open for {} s)", text.empty() ? "" : "; ",
                        prepared[i].text("gid"), prepared[i].number("age_seconds"));
  }
  return text.empty() ? "no session is blocking it right now" : text;
}

void create_slot(PgConnection& creator, PgConnection& observer, const std::string& slot, const Report& report,
                 const SlotPatience& patience) {
  try {
    PgTransaction transaction(creator);
    // Neither the role's own time-outs end it half way, nor does it go on once we are gone and nobody would know of the
    // slot.
    creator.exec("SET LOCAL statement_timeout = 0");
    creator.exec("SET LOCAL idle_in_transaction_session_timeout = 0");
    creator.exec(fmt::format("SET LOCAL lock_timeout = {}", patience.limit.count() + kQueryTimeout.count()));
    if (creator.server_version() >= 140'000) creator.exec("SET LOCAL client_connection_check_interval = '1s'");
    creator.send(create_slot_sql(slot));
    wait_for_slot(creator, observer, slot, report, patience);
    transaction.commit();
  } catch (const PgError& error) {
    if (error.sqlstate() == "57014") throw;
    throw explain_creation(error, slot, creator.target().user);
  }
}

void enable_failover(const Conninfo& replication, const std::string& slot) {
  try {
    PgConnection(replication).exec_simple(enable_failover_command(slot));
  } catch (const PgError& error) {
    throw PgError(error.sqlstate(), fmt::format("cannot make slot \"{}\" a failover slot: {}", slot, error.reason()),
                  error.sqlstate() == "55006" ? "stop the relay that uses it, then run init again" : error.remedy());
  }
}

TemporarySlot create_temporary_slot(PgConnection& creator, PgConnection& observer, const std::string& slot,
                                    const Report& report, const SlotPatience& patience) {
  try {
    // It holds the slot without saying anything for as long as the rows take. The other time-outs are off already.
    if (creator.server_version() >= 140'000) creator.exec_simple("SET idle_session_timeout = 0");
    if (creator.server_version() >= 140'000) creator.exec_simple("SET client_connection_check_interval = '1s'");
    if (creator.server_version() >= 170'000) creator.exec_simple("SET transaction_timeout = 0");
    // The syntax of PostgreSQL 13, which later versions take as well.
    creator.send_simple(
        fmt::format("CREATE_REPLICATION_SLOT {} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT", quote_identifier(slot)));
    const auto made = wait_for_slot(creator, observer, slot, report, patience);
    return {slot, made[0].lsn("consistent_point").value_or(Lsn{}), made[0].text("snapshot_name")};
  } catch (const PgError& error) {
    if (error.sqlstate() == "57014") throw;
    throw explain_creation(error, slot, creator.target().user);
  }
}

void make_permanent(PgConnection& connection, const TemporarySlot& temporary, const std::string& slot) {
  try {
    connection.exec("SELECT pg_copy_logical_replication_slot($1, $2, false)", {temporary.name, slot});
  } catch (const PgError& error) {
    const auto held = read_slot(connection, temporary.name);
    std::string remedy;
    if (!held) remedy = "the connection that held the temporary slot was lost: run the command again";
    if (held && held->lost()) remedy = "raise max_slot_wal_keep_size, and run the command again";
    if (error.sqlstate() == "53400") {
      remedy = "drop a slot that nobody needs, or raise max_replication_slots and restart, and run the command again";
    }
    throw PgError(error.sqlstate(), fmt::format("cannot make slot \"{}\": {}", slot, error.reason()),
                  std::move(remedy));
  }
}

std::string describe_user(const SlotInfo& slot) {
  auto text = fmt::format("pid {}", slot.active_pid);
  if (!slot.application_name.empty()) text += ", " + slot.application_name;
  if (!slot.client_address.empty()) text += " from " + slot.client_address;
  if (!slot.role.empty()) text += ", role " + slot.role;
  return text;
}

bool drop_slot(PgConnection& connection, const std::string& slot) {
  const auto facts = read_slot(connection, slot);
  if (!facts) return false;
  if (facts->active) {
    throw PgError("55006",
                  fmt::format("slot \"{}\" is in use by {}: stop that relay first", slot, describe_user(*facts)));
  }
  connection.exec("SELECT pg_drop_replication_slot($1)", {slot});
  return true;
}

bool drop_publication(PgConnection& connection, const std::string& publication) {
  if (connection.exec("SELECT 1 FROM pg_publication WHERE pubname = $1", {publication}).empty()) return false;
  const std::string sql = "DROP PUBLICATION " + quote_identifier(publication);
  try {
    connection.exec(sql);
  } catch (const PgError& error) {
    if (error.sqlstate() != "42501") throw;
    throw PgError(error.sqlstate(), fmt::format("publication \"{}\" stays: {}", publication, error.reason()),
                  fmt::format("it holds nothing back; its owner removes it: {};", sql));
  }
  return true;
}

PublicationAge compare_ages(PgConnection& connection, const SlotInfo& slot, const std::string& publication) {
  if (slot.active) return PublicationAge::unknown;
  try {
    connection.clear_notices();
    peek_first(connection, slot, publication);
  } catch (const PgError& error) {
    if (error.sqlstate() == "42704") return PublicationAge::too_young;
    if (is_peek_in_vain(error)) return PublicationAge::unknown;
    throw;
  }
  // PostgreSQL 18 skips the rows with a warning instead of failing.
  return connection.noticed("skipped loading publication") ? PublicationAge::too_young : PublicationAge::fits;
}

std::optional<double> oldest_commit_age(PgConnection& connection, const SlotInfo& slot,
                                        const std::string& publication) {
  if (slot.active) return std::nullopt;
  try {
    const auto rows = peek_first(connection, slot, publication);
    if (rows.empty()) return 0.0;
    const auto committed = std::stoll(rows[0].text("commit_time"), nullptr, 16);  // 16 digits, microseconds since 2000
    const auto age = static_cast<double>(rows[0].number("now") - committed) / 1e6;
    return std::max(age, 0.0);
  } catch (const PgError& error) {
    // A slot older than its publication has nothing that could be read; `check` tells.
    if (error.sqlstate() == "42704" || is_peek_in_vain(error)) return std::nullopt;
    throw;
  }
}

}  // namespace walrelay
