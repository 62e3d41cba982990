#include "connector/config/dsn.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <span>
#include <vector>

#include "connector/postgres/pg_handles.h"
#include "decoder/nearest_name.h"

namespace walrelay {
namespace {

// Both arrays of libpq end with an entry that has no keyword.
std::span<const PQconninfoOption> entries(const PgConninfoHandle& options) {
  std::size_t count = 0;
  while (options && options.get()[count].keyword != nullptr) ++count;
  return {options.get(), count};
}

std::string quoted(std::string_view value) {
  std::string result = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') result.push_back('\\');
    result.push_back(c);
  }
  return result + "'";
}

// libpq repeats what it stumbled over: that may be a piece of a password with a blank or an @ in it.
std::string without_quotation(std::string_view message) {
  message = message.substr(0, message.find('\n'));
  return std::string(message.substr(0, message.find(" \"")));
}

std::string nearest_parameter(std::string_view message) {
  const auto start = message.find('"');
  const auto end = message.rfind('"');
  if (start == std::string_view::npos || end <= start + 1) return {};
  const PgConninfoHandle known(PQconndefaults());
  std::vector<std::string_view> names;
  for (const auto& option : entries(known)) names.emplace_back(option.keyword);
  return std::string(nearest_name(message.substr(start + 1, end - start - 1), names));
}

}  // namespace

std::string conninfo_problem(std::string_view dsn) {
  char* error = nullptr;
  const PgConninfoHandle options(PQconninfoParse(std::string(dsn).c_str(), &error));
  const PgMemory owned(error);
  if (options) return {};
  const std::string_view message = error == nullptr ? "out of memory" : error;
  if (message.find("invalid connection option") != std::string_view::npos ||
      message.find("invalid URI query parameter") != std::string_view::npos) {
    const std::string near = nearest_parameter(message);
    if (!near.empty()) return fmt::format("it has a parameter that libpq does not know; did you mean {}?", near);
    return "it has a parameter that libpq does not know; put a value that contains blanks in single quotes";
  }
  return fmt::format(
      "libpq cannot parse it ({}); write host=db dbname=shop user=walrelay, values with blanks in single quotes, or "
      "postgresql://walrelay@db/shop with special characters percent-encoded",
      without_quotation(message));
}

std::string masked_conninfo(const std::string& dsn) {
  const PgConninfoHandle options(PQconninfoParse(dsn.c_str(), nullptr));
  if (!options) return "***";
  std::string masked;
  for (const auto& option : entries(options)) {
    if (option.val == nullptr) continue;
    const bool secret = std::string_view(option.dispchar) == "*";
    if (!masked.empty()) masked.push_back(' ');
    const bool plain =
        std::string_view(option.val).find_first_of(" '\\") == std::string_view::npos && *option.val != '\0';
    masked += fmt::format("{}={}", option.keyword, secret ? "***" : plain ? option.val : quoted(option.val));
  }
  return masked;
}

}  // namespace walrelay
