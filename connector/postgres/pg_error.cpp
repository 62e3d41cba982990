#include "connector/postgres/pg_error.h"

#include <algorithm>
#include <array>

namespace walrelay {
namespace {

using Texts = std::initializer_list<std::string_view>;

bool contains_any(std::string_view text, Texts parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

bool starts_with_any(std::string_view text, Texts prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

// libpq's own refusals have no SQLSTATE. Its texts are English here, as the program never calls setlocale().
PgTrouble classify_client_error(std::string_view message) {
  const bool permanent = contains_any(
      message, {"no password supplied", "server does not support SSL", "certificate verify failed",
                "does not match host name", "root certificate file", "certificate file \"", "private key file \"",
                "channel binding required", "authentication method requirement", "server does not support GSSAPI"});
  return permanent ? PgTrouble::permanent : PgTrouble::retryable;
}

}  // namespace

PgTrouble classify(std::string_view sqlstate, std::string_view message) {
  if (sounds_like_pooler(message)) return PgTrouble::permanent;
  if (sqlstate.empty()) return classify_client_error(message);
  if (sqlstate == "42704" || sqlstate == "55000") return PgTrouble::slot;
  if (sqlstate == "57P04") return PgTrouble::permanent;  // database dropped
  // Authentication; database or schema missing; not supported; bad value; syntax, rights, unknown names.
  if (starts_with_any(sqlstate, {"28", "3D", "3F", "0A", "22", "42"})) return PgTrouble::permanent;
  return PgTrouble::retryable;
}

bool sounds_like_pooler(std::string_view message) {
  // PgBouncer and those that took over its words; Amazon RDS Proxy; Odyssey.
  return contains_any(message, {"unsupported startup parameter", "nsupported startup option", "RDS Proxy",
                                "odyssey:", "pgbouncer", "Supavisor", "replication connections are not supported"});
}

bool sounds_like_oversized_row(std::string_view sqlstate, std::string_view message) {
  // palloc's limit; a string buffer's (a real lack of memory has SQLSTATE 53200).
  return message.find("invalid memory alloc request size") != std::string_view::npos ||
         (sqlstate == "54000" && contains_any(message, {"out of memory", "string buffer"}));
}

}  // namespace walrelay
