#include "connector/postgres/conninfo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>

#include "connector/postgres/pg_connection.h"

namespace walrelay {
namespace {

using Keywords = std::vector<std::pair<std::string, std::string>>;
using Effective = std::map<std::string, std::string, std::less<>>;

constexpr std::string_view kRefusedSslmode = "walrelay-resolves-only";

PgConnectionHandle start_connection(const std::string& dsn, const Keywords& extra) {
  std::vector<const char*> keywords{"dbname"};  // libpq expands a connection string given as the database
  std::vector<const char*> values{dsn.c_str()};
  for (const auto& [keyword, value] : extra) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  PgConnectionHandle connection(PQconnectStartParams(keywords.data(), values.data(), 1));
  if (!connection) throw std::bad_alloc();
  return connection;
}

[[noreturn]] void refuse_dsn() {
  throw PgError(
      PgTrouble::permanent,
      "postgres.dsn is neither a libpq key/value string nor a postgresql:// URI (it is not shown, as it may hold a "
      "password); in a URI, percent-encode special characters (@ as %40, / as %2F, : as %3A, % as %25); in a "
      "key/value string, put the value in single quotes with ' as \\' and \\ as \\\\");
}

void check_syntax(const std::string& dsn) {
  const bool is_database_name = dsn.find('=') == std::string::npos && dsn.find("://") == std::string::npos;
  if (is_database_name) return;
  const PgConninfoHandle parsed(PQconninfoParse(dsn.c_str(), nullptr));
  if (!parsed) refuse_dsn();
}

// Every keyword's value after string, service file, environment and defaults. Only libpq knows how these combine, and
// it tells only for a connection: so one is begun with an sslmode that it refuses before it resolves or opens anything.
Effective resolve(const std::string& dsn) {
  check_syntax(dsn);
  const auto connection = start_connection(dsn, {{"sslmode", std::string(kRefusedSslmode)}});
  const PgConninfoHandle options(PQconninfo(connection.get()));
  Effective effective;
  for (const auto* option = options.get(); option != nullptr && option->keyword != nullptr; ++option) {
    if (option->val != nullptr && std::string_view(option->dispchar) != "*") effective[option->keyword] = option->val;
  }
  if (effective["sslmode"] != kRefusedSslmode) {  // libpq did not get that far: the service is not known
    throw PgError(PgTrouble::permanent, one_line(PQerrorMessage(connection.get())));
  }
  // A password with a bare @ in a URI ends up here in part; a host that starts with @ is an abstract socket.
  if (effective["host"].find('@', 1) != std::string::npos) refuse_dsn();
  return effective;
}

std::string merge_options(const std::string& users) {
  // The text of a value depends on these, whatever the role, the database or the user's own options say: the last one
  // wins.
  return users + (users.empty() ? "" : " ") +
         "-c client_encoding=UTF8 -c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres -c bytea_output=hex "
         "-c extra_float_digits=1 -c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0";
}

long count_hosts(const Effective& effective) {
  const auto addresses = effective.find("hostaddr");
  const auto& list = addresses == effective.end() ? effective.at("host") : addresses->second;
  return 1 + static_cast<long>(std::count(list.begin(), list.end(), ','));
}

}  // namespace

class ConninfoBuilder {
 public:
  ConninfoBuilder(const std::string& dsn, std::string_view slot) : effective_(resolve(dsn)) {
    info_.dsn_ = dsn;
    const auto host = value("host").empty() ? value("hostaddr") : value("host");
    info_.target_ = {host, value("port"), value("dbname"), value("user")};
    set("fallback_application_name", fmt::format("walrelay/{}", slot));
    set("client_encoding", "UTF8");
    set_default("keepalives_idle", "10");
    set_default("keepalives_interval", "5");
    set_default("keepalives_count", "3");
    set_time_limits();
  }

  // Copies: GCC 12 takes a short string that is moved here for one out of bounds, once memcpy is fortified.
  void set(std::string_view keyword, std::string_view text) { info_.extra_.emplace_back(keyword, text); }
  [[nodiscard]] std::string value(const std::string& keyword) const {
    const auto found = effective_.find(keyword);
    return found == effective_.end() ? "" : found->second;
  }
  Conninfo take() { return std::move(info_); }

 private:
  void set_default(const std::string& keyword, const std::string& text) {
    if (value(keyword).empty()) set(keyword, text);
  }

  // tcp_user_timeout also ends a connect that nobody answers, so that the next host of a list gets its turn in time.
  void set_time_limits() {
    const long hosts = count_hosts(effective_);
    const long seconds = std::strtol(value("connect_timeout").c_str(), nullptr, 10);
    if (seconds > 0) info_.connect_timeout_ = std::chrono::seconds(std::max(seconds, 2L) * hosts);
    const auto per_host = info_.connect_timeout_ / (hosts + 1);
    set_default("tcp_user_timeout", std::to_string(hosts > 1 ? std::max<long>(per_host.count(), 2000L) : 20'000L));
  }

  Effective effective_;
  Conninfo info_;
};

std::string PgTarget::to_string() const {
  return fmt::format("host={} port={} dbname={} user={}", host.empty() ? "local socket" : host, port, database, user);
}

PgConnectionHandle Conninfo::start() const {
  auto connection = start_connection(dsn_, extra_);
  PQsetErrorVerbosity(connection.get(), PQERRORS_VERBOSE);  // the only way to the SQLSTATE of a refused connection
  return connection;
}

Conninfo replication_conninfo(const std::string& dsn, std::string_view slot) {
  ConninfoBuilder builder(dsn, slot);
  builder.set("replication", "database");
  builder.set("options", merge_options(builder.value("options")));
  return builder.take();
}

Conninfo query_conninfo(const std::string& dsn, std::string_view slot) {
  ConninfoBuilder builder(dsn, slot);
  if (!builder.value("replication").empty()) builder.set("replication", "false");
  return builder.take();
}

void forget_session_environment() {
  for (const char* name : {"PGTZ", "PGDATESTYLE", "PGGEQO"}) unsetenv(name);
}

}  // namespace walrelay
