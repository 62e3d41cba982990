#include "connector/postgres/async_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "connector/invariant.h"
#include "connector/observe/log.h"
#include "connector/postgres/pg_connection.h"

namespace walrelay {

namespace {

// libpq would write it to stderr as it is, and a server that is shut down at once sends one to everybody.
void log_notice(void*, const char* text) { log_debug("server_notice", one_line(text)); }

}  // namespace

void AsyncConnection::connect(const Conninfo& conninfo, Instant now) {
  close();
  error_ = {};
  target_ = conninfo.target();
  connect_deadline_ = now + conninfo.connect_timeout();
  connection_ = conninfo.start();
  PQsetNoticeProcessor(connection_.get(), log_notice, nullptr);
  state_ = State::connecting;
  wants_write_ = true;
  if (PQstatus(connection_.get()) == CONNECTION_BAD) fail(describe(nullptr));
}

void AsyncConnection::close() {
  result_.reset();
  connection_.reset();
  state_ = State::closed;
  wants_write_ = false;
}

void AsyncConnection::fail(SourceError why) {
  close();
  error_ = std::move(why);
}

AsyncConnection::State AsyncConnection::step(Instant now) {
  if (state_ == State::connecting) poll_connect(now);
  if (state_ == State::busy) poll_result();
  return state_;
}

void AsyncConnection::poll_connect(Instant now) {
  const auto progress = PQconnectPoll(connection_.get());
  if (progress == PGRES_POLLING_FAILED) return fail(describe(nullptr));
  if (progress == PGRES_POLLING_OK) {
    if (PQsetnonblocking(connection_.get(), 1) != 0) return fail(describe(nullptr));
    state_ = State::ready;
    wants_write_ = false;
    return;
  }
  wants_write_ = progress == PGRES_POLLING_WRITING;
  if (now >= connect_deadline_)
    fail({"", fmt::format("{}: no answer in time; is the address right and reachable?", target_.to_string())});
}

void AsyncConnection::query(const std::string& sql, const std::vector<std::string>& parameters) {
  WALRELAY_INVARIANT(state_ == State::ready);
  error_ = {};
  result_.reset();
  std::vector<const char*> values;
  values.reserve(parameters.size());
  std::transform(parameters.begin(), parameters.end(), std::back_inserter(values),
                 [](const auto& p) { return p.c_str(); });
  const int sent = parameters.empty()
                       ? PQsendQuery(connection_.get(), sql.c_str())
                       : PQsendQueryParams(connection_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr,
                                           values.data(), nullptr, nullptr, 0);
  if (sent == 0 || !flush()) return fail(describe(nullptr));
  state_ = State::busy;
}

bool AsyncConnection::flush() {
  const int pending = PQflush(connection_.get());
  wants_write_ = pending > 0;
  return pending >= 0;
}

void AsyncConnection::check_idle() {
  if (PQconsumeInput(connection_.get()) == 0 || PQstatus(connection_.get()) == CONNECTION_BAD) fail(describe(nullptr));
}

void AsyncConnection::poll_result() {
  if ((wants_write_ && !flush()) || PQconsumeInput(connection_.get()) == 0) return fail(describe(nullptr));
  while (PQisBusy(connection_.get()) == 0) {
    PgResultHandle next{PQgetResult(connection_.get())};
    if (!next) {
      state_ = State::ready;
      return;
    }
    const auto status = PQresultStatus(next.get());
    if (status == PGRES_FATAL_ERROR) error_ = describe(next.get());
    result_ = std::move(next);
    if (status == PGRES_COPY_BOTH) {
      state_ = State::copying;
      return;
    }
    if (PQstatus(connection_.get()) == CONNECTION_BAD) return fail(std::move(error_));
  }
}

SourceError AsyncConnection::describe(const PGresult* result) const {
  const bool explained = result != nullptr && PQresultErrorField(result, PG_DIAG_SQLSTATE) != nullptr;
  const PgError error =
      explained ? result_error(result, target_.to_string()) : connect_error(connection_.get(), target_);
  return {error.sqlstate(), error.message()};
}

}  // namespace walrelay
