#include "connector/postgres/pg_connection.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <stdexcept>

#include "connector/clock.h"
#include "connector/postgres/admin_sql.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;

// False when the time was over first.
bool wait_for_socket(int descriptor, short events, Instant deadline) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waiting{descriptor, events, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw PgError("", fmt::format("poll: error {}", errno));
    if (ready == 0 && left.count() <= 0) return false;
  }
}

void connect_until(PGconn* connection, const Conninfo& conninfo) {
  const auto deadline = std::chrono::steady_clock::now() + conninfo.connect_timeout();
  auto state = PQstatus(connection) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
  while (state != PGRES_POLLING_OK) {
    if (state == PGRES_POLLING_FAILED) throw connect_error(connection, conninfo.target());
    const short events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (!wait_for_socket(PQsocket(connection), events, deadline)) {
      throw PgError(
          "",
          fmt::format("cannot connect to PostgreSQL ({}): no answer within {} s", conninfo.target().to_string(),
                      std::chrono::ceil<std::chrono::seconds>(conninfo.connect_timeout()).count()),
          "check that the server runs, and host, port and firewall");
    }
    state = PQconnectPoll(connection);
  }
}

// libpq would write it to stderr. The address of `notices` is PgConnection's own, so it does not move.
void keep_notice(void* notices, const char* text) {
  constexpr std::size_t kBytesMax = 16'384;
  auto& kept = *static_cast<std::string*>(notices);
  if (kept.size() < kBytesMax) kept += text;
}

// Every SQLSTATE has a digit; that tells it from the severities FATAL, PANIC and ERROR.
bool is_sqlstate(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return text.size() == 5 && std::any_of(text.begin(), text.end(), digit) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return digit(c) || (c >= 'A' && c <= 'Z'); });
}

// Verbose texts read 'FATAL:  28P01: password authentication failed ... LOCATION:  auth_failed, auth.c:330'. The state
// is taken out, and so is the place in the server's source.
std::string take_sqlstate(std::string& text) {
  const auto location = text.find(" LOCATION: ");
  if (location != std::string::npos) text.erase(location);
  for (auto colon = text.find(": "); colon != std::string::npos; colon = text.find(": ", colon + 1)) {
    const auto state = std::string_view(text).substr(colon + 2, 5);
    if (!is_sqlstate(state) || text.compare(colon + 7, 2, ": ") != 0) continue;
    std::string sqlstate(state);
    text.erase(colon + 2, 7);
    return sqlstate;
  }
  return "";
}

std::string connect_remedy(std::string_view sqlstate, std::string_view message, const PgTarget& target) {
  const auto says = [&](std::string_view part) { return message.find(part) != std::string_view::npos; };
  if (sounds_like_pooler(message)) {
    return "a connection pooler answers at this address: set postgres.dsn to the PostgreSQL server itself (ordinary "
           "queries may "
           "go through the pooler: postgres.query_dsn)";
  }
  if (sqlstate == "28P01" || says("no password supplied")) {
    return "check the password in postgres.dsn, PGPASSWORD or the password file";
  }
  if (sqlstate == "28000") return "check that the role exists and may log in, and the server's pg_hba.conf";
  if (sqlstate == "3D000") return "check dbname in postgres.dsn";
  if (sqlstate == "42501") {
    return fmt::format("{}; {};", alter_role_sql(target.user), grant_connect_sql(target.user, target.database));
  }
  if (sqlstate == "53300") return "raise max_connections or max_wal_senders, or end connections that nobody needs";
  if (says("certificate") || says("SSL")) return "check sslmode, sslrootcert and the name that the certificate is for";
  if (sqlstate.empty()) return "check that the server runs, and host, port and firewall";
  return "";
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!space) line += c;
    if (space && !line.empty() && line.back() != ' ') line += ' ';
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

PgError connect_error(PGconn* connection, const PgTarget& target, std::string_view doing) {
  auto text = one_line(PQerrorMessage(connection));
  auto sqlstate = take_sqlstate(text);
  if (const auto hint = text.find(" Is the server running"); hint != std::string::npos)
    text.erase(hint);  // the remedy asks
  auto remedy = connect_remedy(sqlstate, text, target);
  return {std::move(sqlstate), fmt::format("{} ({}): {}", doing, target.to_string(), text), std::move(remedy)};
}

PgError result_error(const PGresult* result, std::string_view doing) {
  const auto field = [&](int code) {
    const char* text = PQresultErrorField(result, code);
    return text == nullptr ? std::string() : one_line(text);
  };
  auto text = field(PG_DIAG_MESSAGE_PRIMARY);
  if (text.empty()) text = one_line(PQresultErrorMessage(result));
  if (const auto detail = field(PG_DIAG_MESSAGE_DETAIL); !detail.empty()) text += " (" + detail + ")";
  if (const auto hint = field(PG_DIAG_MESSAGE_HINT); !hint.empty()) text += " (" + hint + ")";
  return {field(PG_DIAG_SQLSTATE), doing.empty() ? text : fmt::format("{}: {}", doing, text)};
}

int PgRow::index(const char* column) const {
  const int found = PQfnumber(result_, column);
  if (found < 0) throw std::logic_error(fmt::format("result without column {}", column));
  return found;
}

bool PgRow::is_null(const char* column) const { return PQgetisnull(result_, row_, index(column)) != 0; }

std::string_view PgRow::view(const char* column) const {
  const int field = index(column);
  return {PQgetvalue(result_, row_, field), static_cast<std::size_t>(PQgetlength(result_, row_, field))};
}

std::string PgRow::text(const char* column) const { return std::string(view(column)); }

std::optional<std::string> PgRow::maybe(const char* column) const {
  if (is_null(column)) return std::nullopt;
  return text(column);
}

std::int64_t PgRow::number(const char* column) const {
  const auto digits = view(column);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (!digits.empty() && (error != std::errc{} || stop != digits.data() + digits.size())) {
    throw std::logic_error(fmt::format("column {} is not an integer", column));
  }
  return value;
}

bool PgRow::flag(const char* column) const { return view(column) == "t"; }

std::optional<Lsn> PgRow::lsn(const char* column) const { return Lsn::parse(view(column)); }

std::size_t PgRows::affected() const {
  const std::string_view digits = PQcmdTuples(result_.get());
  std::size_t rows = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), rows);
  return rows;
}

PgConnection::PgConnection(const Conninfo& conninfo) : target_(conninfo.target()), connection_(conninfo.start()) {
  connect_until(connection_.get(), conninfo);
  PQsetNoticeProcessor(connection_.get(), keep_notice, &notices_);
  PQsetnonblocking(connection_.get(), 1);
}

PgRows PgConnection::exec(const std::string& sql, const PgParameters& parameters, milliseconds timeout) {
  send(sql, parameters);
  finish(timeout);
  return take();
}

PgRows PgConnection::exec_simple(const std::string& sql, milliseconds timeout) {
  send_simple(sql);
  finish(timeout);
  return take();
}

void PgConnection::send_simple(const std::string& sql) {
  if (PQsendQuery(connection_.get(), sql.c_str()) == 0) fail_lost();
}

void PgConnection::send(const std::string& sql, const PgParameters& parameters) {
  std::vector<const char*> values;
  for (const auto& parameter : parameters) values.push_back(parameter ? parameter->c_str() : nullptr);
  if (PQsendQueryParams(connection_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(),
                        nullptr, nullptr, 0) == 0) {
    fail_lost();
  }
}

bool PgConnection::wait(milliseconds at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (true) {
    const int unsent = PQflush(connection_.get());
    if (unsent < 0) fail_lost();
    if (unsent == 0 && PQisBusy(connection_.get()) == 0) return true;
    const auto events = static_cast<short>(unsent == 0 ? POLLIN : POLLIN | POLLOUT);
    if (!wait_for_socket(PQsocket(connection_.get()), events, deadline)) return false;
    if (PQconsumeInput(connection_.get()) == 0) fail_lost();
  }
}

void PgConnection::finish(milliseconds timeout) {
  if (wait(timeout)) return;
  throw PgError("", fmt::format("PostgreSQL ({}) did not answer within {} s", target_.to_string(),
                                std::chrono::ceil<std::chrono::seconds>(timeout).count()));
}

PgRows PgConnection::take() {
  PgResultHandle last;
  PgResultHandle failed;
  while (PGresult* next = PQgetResult(connection_.get())) {
    PgResultHandle result(next);
    const auto status = PQresultStatus(next);
    if (status == PGRES_FATAL_ERROR && !failed)
      failed = std::move(result);
    else
      last = std::move(result);
    if (status == PGRES_COPY_BOTH || status == PGRES_COPY_OUT || status == PGRES_COPY_IN) break;
  }
  if (failed) throw result_error(failed.get(), "");
  if (!last) fail_lost();
  return PgRows(std::move(last));
}

void PgConnection::fail_lost() {
  throw PgError("", fmt::format("lost the connection to PostgreSQL ({}): {}", target_.to_string(),
                                one_line(PQerrorMessage(connection_.get()))));
}

}  // namespace walrelay
