#include "connector/postgres/pg_quote.h"

#include <stdexcept>

namespace walrelay {
namespace {

void append_doubled(std::string& out, std::string_view text, std::string_view doubled) {
  for (const char c : text) {
    if (c == '\0') throw std::invalid_argument("a name or text with a zero byte cannot be sent to PostgreSQL");
    if (doubled.find(c) != std::string_view::npos) out += c;
    out += c;
  }
}

}  // namespace

std::string quote_identifier(std::string_view name) {
  std::string quoted = "\"";
  append_doubled(quoted, name, "\"");
  return quoted += '"';
}

TableName split_table(std::string_view table) {
  const auto dot = table.find('.');
  if (dot == std::string_view::npos) return {"public", std::string(table)};
  return {std::string(table.substr(0, dot)), std::string(table.substr(dot + 1))};
}

std::string quote_table(std::string_view table) {
  const auto [schema, name] = split_table(table);
  return quote_identifier(schema) + '.' + quote_identifier(name);
}

std::string quote_literal(std::string_view text) {
  const bool escapes = text.find('\\') != std::string_view::npos;
  std::string quoted = escapes ? "E'" : "'";
  append_doubled(quoted, text, escapes ? "'\\" : "'");
  return quoted += '\'';
}

void append_array_element(std::string& array, std::string_view element) {
  array.back() = ',';  // over the closing brace
  if (array.size() == 2) array.pop_back();
  array += '"';
  for (const char c : element) {
    if (c == '"' || c == '\\') array += '\\';
    array += c;
  }
  array += "\"}";
}

std::string array_text(std::span<const std::string> elements) {
  std::string array = "{}";
  for (const auto& element : elements) append_array_element(array, element);
  return array;
}

std::string quote_replication_literal(std::string_view text) {
  std::string quoted = "'";
  append_doubled(quoted, text, "'");
  return quoted += '\'';
}

std::string quote_publication_names(std::span<const std::string> names) {
  std::string list;
  for (const auto& name : names) {
    if (!list.empty()) list += ',';
    list += quote_identifier(name);
  }
  return quote_replication_literal(list);
}

std::string quote_publication_name(const std::string& name) { return quote_publication_names({&name, 1}); }

}  // namespace walrelay
