#include "tests/support/pg_session.h"

#include <fmt/format.h>

#include <stdexcept>

namespace walrelay::test {
namespace {

PgResultHandle execute(PGconn* connection, const std::string& sql) {
  PgResultHandle result(PQexec(connection, sql.c_str()));
  const auto status = PQresultStatus(result.get());
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY) return result;
  throw std::runtime_error(fmt::format("{}\nin: {}", PQerrorMessage(connection), sql.substr(0, 500)));
}

}  // namespace

PgSession::PgSession(const std::string& dsn) : connection_(PQconnectdb(dsn.c_str())) {
  if (PQstatus(connection_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_.get()));
  // Notices ("table does not exist, skipping") would only clutter the test's output.
  PQsetNoticeReceiver(connection_.get(), [](void*, const PGresult*) {}, nullptr);
}

void PgSession::exec(const std::string& sql) { execute(connection_.get(), sql); }

PgRows PgSession::query(const std::string& sql) {
  const auto result = execute(connection_.get(), sql);
  PgRows rows(static_cast<std::size_t>(PQntuples(result.get())));
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    for (int column = 0; column < PQnfields(result.get()); ++column) {
      const bool null = PQgetisnull(result.get(), row, column) != 0;
      const auto length = static_cast<std::size_t>(PQgetlength(result.get(), row, column));
      rows[static_cast<std::size_t>(row)].push_back(
          null ? std::nullopt : std::optional(std::string(PQgetvalue(result.get(), row, column), length)));
    }
  }
  return rows;
}

std::string PgSession::value(const std::string& sql) {
  const auto rows = query(sql);
  return rows.empty() || rows[0].empty() ? "" : rows[0][0].value_or("");
}

}  // namespace walrelay::test
