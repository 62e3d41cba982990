#pragma once
// An ordinary, blocking connection for the commands (never for the relay's loop). Every wait has a deadline.
// Thread: one at a time. Errors: PgError; its text names host, port, database and user, never a password.

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connector/postgres/conninfo.h"
#include "connector/postgres/pg_error.h"
#include "decoder/lsn.h"

namespace walrelay {

inline constexpr std::chrono::milliseconds kQueryTimeout{10'000};

// One row of a result; columns by name. Valid as long as its PgRows. A column that the result lacks is a programming
// error (std::logic_error).
class PgRow {
 public:
  [[nodiscard]] bool is_null(const char* column) const;
  [[nodiscard]] std::string text(const char* column) const;  // NULL: ""
  [[nodiscard]] std::optional<std::string> maybe(const char* column) const;
  [[nodiscard]] std::int64_t number(const char* column) const;  // NULL: 0
  [[nodiscard]] bool flag(const char* column) const;            // NULL: false
  [[nodiscard]] std::optional<Lsn> lsn(const char* column) const;

 private:
  friend class PgRows;
  PgRow(const PGresult* result, int row) : result_(result), row_(row) {}
  [[nodiscard]] int index(const char* column) const;
  [[nodiscard]] std::string_view view(const char* column) const;
  const PGresult* result_;
  int row_;
};

class PgRows {
 public:
  explicit PgRows(PgResultHandle result) : result_(std::move(result)) {}
  [[nodiscard]] int size() const { return PQntuples(result_.get()); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] std::size_t affected() const;  // rows that the statement wrote to
  [[nodiscard]] PgRow operator[](int row) const { return {result_.get(), row}; }

 private:
  PgResultHandle result_;
};

using PgParameters = std::vector<std::optional<std::string>>;  // $1, $2, ... as text; nullopt: NULL

class PgConnection {
 public:
  // Connects, or throws within conninfo.connect_timeout().
  explicit PgConnection(const Conninfo& conninfo);
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  // One statement. After a time-out the connection is of no more use.
  PgRows exec(const std::string& sql, const PgParameters& parameters = {},
              std::chrono::milliseconds timeout = kQueryTimeout);
  // One command of the replication protocol, or several statements at once: no parameters.
  PgRows exec_simple(const std::string& sql, std::chrono::milliseconds timeout = kQueryTimeout);

  // The same in steps, for who has something to do while the statement runs: send, wait until true, take.
  void send(const std::string& sql, const PgParameters& parameters = {});
  void send_simple(const std::string& sql);                    // as exec_simple()
  [[nodiscard]] bool wait(std::chrono::milliseconds at_most);  // true: the result is complete
  PgRows take();

  // Warnings and notices that the server has sent since clear_notices().
  void clear_notices() { notices_.clear(); }
  [[nodiscard]] bool noticed(std::string_view part) const { return notices_.find(part) != std::string::npos; }

  [[nodiscard]] int server_version() const { return PQserverVersion(connection_.get()); }  // 150018
  [[nodiscard]] int backend_pid() const { return PQbackendPID(connection_.get()); }
  [[nodiscard]] bool tls() const { return PQsslInUse(connection_.get()) != 0; }
  [[nodiscard]] const PgTarget& target() const { return target_; }
  [[nodiscard]] PGconn* get() const { return connection_.get(); }  // stays owned here

 private:
  void finish(std::chrono::milliseconds timeout);
  [[noreturn]] void fail_lost();
  PgTarget target_;
  std::string notices_;
  PgConnectionHandle connection_;
};

// What PQerrorMessage() of a failed connect says, as one line that names the target, with the SQLSTATE taken out of it
// and a remedy where one is known. Needs a connection made by Conninfo::start().
// `doing` tells a connection that never was from one that was lost.
[[nodiscard]] PgError connect_error(PGconn* connection, const PgTarget& target,
                                    std::string_view doing = "cannot connect to PostgreSQL");

// The error of a result: "ERROR text (detail; hint)" in one line, after what was being done.
[[nodiscard]] PgError result_error(const PGresult* result, std::string_view doing);

// Line breaks and runs of spaces become one space.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace walrelay
