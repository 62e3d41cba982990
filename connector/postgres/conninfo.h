#pragma once
// How the relay connects: the user's connection string (libpq key/value string or URI; empty: PG* variables and
// defaults alone) plus what the relay needs on top. PostgreSQL manual, "libpq: Connection Strings" and "Parameter Key
// Words".
//
// libpq itself reads the string, the service file, the environment and the password file, at every connect anew, so
// each of them means what it means to psql. No password is kept here beside the string that was given. Errors: PgError
// with SQLSTATE "" and trouble permanent; the text never quotes a connection string.

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connector/postgres/pg_handles.h"

namespace walrelay {

// What a connection string resolves to, for messages to people. Holds no secret.
struct PgTarget {
  std::string host;  // as given, a comma-separated list of several; a directory: Unix socket
  std::string port;
  std::string database;
  std::string user;

  // "host=db port=5432 dbname=shop user=walrelay"
  [[nodiscard]] std::string to_string() const;
};

class Conninfo {
 public:
  // Starts connecting without blocking (but for the resolver); to be driven by PQconnectPoll(). Never null; its status
  // may be CONNECTION_BAD. The server's errors carry their SQLSTATE (see connect_error() in pg_connection.h).
  [[nodiscard]] PgConnectionHandle start() const;

  [[nodiscard]] const PgTarget& target() const { return target_; }
  // For all hosts together: the user's connect_timeout for each of them, else 9 s.
  [[nodiscard]] std::chrono::milliseconds connect_timeout() const { return connect_timeout_; }

 private:
  friend class ConninfoBuilder;
  std::string dsn_;
  std::vector<std::pair<std::string, std::string>> extra_;  // keywords that win over the string's
  PgTarget target_;
  std::chrono::milliseconds connect_timeout_{9'000};
};

// replication=database, and the session settings that the text of values depends on, after the user's own `options`.
[[nodiscard]] Conninfo replication_conninfo(const std::string& dsn, std::string_view slot);

// For SQL. Sends no `options` of its own, which poolers refuse.
[[nodiscard]] Conninfo query_conninfo(const std::string& dsn, std::string_view slot);

// PGTZ, PGDATESTYLE and PGGEQO are sent by libpq as settings that would win over the relay's own. To be called once, in
// main(), before a thread starts.
void forget_session_environment();

}  // namespace walrelay
