#pragma once
// One libpq connection that never blocks: connecting and queries are driven by step(), with poll() on descriptor()
// between. PostgreSQL manual, "libpq: Asynchronous Command Processing". Thread: the loop thread. (Only the name look-up
// inside PQconnectStart may wait for the resolver.)

#include <string>
#include <vector>

#include "connector/clock.h"
#include "connector/postgres/conninfo.h"
#include "connector/postgres/pg_handles.h"
#include "connector/source.h"

namespace walrelay {

class AsyncConnection {
 public:
  enum class State : std::uint8_t {
    closed,      // not begun, or failed: see error()
    connecting,  // step() drives it
    ready,       // a query may be sent
    busy,        // waiting for a result
    copying,     // in COPY BOTH: PQgetCopyData and PQputCopyData are the owner's
  };

  void connect(const Conninfo& conninfo, Instant now);
  void close();

  // Drives what is under way as far as it goes without waiting.
  State step(Instant now);
  [[nodiscard]] State state() const { return state_; }

  // Only when ready. Parameters are sent as text; none: the simple protocol, which a walsender asks for.
  void query(const std::string& sql, const std::vector<std::string>& parameters = {});
  // The result of the last query, once step() has left busy; an SQL error is in error() and the connection stays ready.
  [[nodiscard]] PgResultHandle take_result() { return std::move(result_); }

  // Why the last connect or query failed; names the server, never a secret.
  [[nodiscard]] const SourceError& error() const { return error_; }
  // The error of a result, or of the connection where the result has none.
  [[nodiscard]] SourceError describe(const PGresult* result) const;

  [[nodiscard]] PGconn* raw() const { return connection_.get(); }
  [[nodiscard]] int descriptor() const { return connection_ ? PQsocket(connection_.get()) : -1; }
  [[nodiscard]] bool wants_write() const { return wants_write_; }
  // False if the connection is gone.
  bool flush();
  // When the descriptor is readable although nothing was asked: the server may have ended the connection.
  void check_idle();
  // Closes it for a reason of the caller's.
  void abandon(SourceError why) { fail(std::move(why)); }
  [[nodiscard]] const PgTarget& target() const { return target_; }

 private:
  void fail(SourceError why);
  void poll_connect(Instant now);
  void poll_result();

  PgConnectionHandle connection_;
  PgResultHandle result_;
  PgTarget target_;
  State state_ = State::closed;
  Instant connect_deadline_{};
  bool wants_write_ = false;
  SourceError error_;
};

}  // namespace walrelay
