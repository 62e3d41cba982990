#pragma once
// libpq connection strings, keyword/value or URI form, without connecting. PostgreSQL manual, "Connection Strings".
// A connection string may hold a password anywhere, so nothing here repeats what it was given.

#include <string>
#include <string_view>

namespace walrelay {

// Why libpq does not take it and what to do, "" if it does. Contains nothing of the string but names of known
// parameters.
[[nodiscard]] std::string conninfo_problem(std::string_view dsn);

// The same connection in keyword/value form with every secret (password, sslpassword, ...) as ***; it parses again.
// "***" alone if it cannot be parsed.
[[nodiscard]] std::string masked_conninfo(const std::string& dsn);

}  // namespace walrelay
