#include "connector/config/option_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "connector/config/dsn.h"
#include "connector/config/listen_address.h"

namespace walrelay {
namespace {

constexpr std::size_t kNameBytesMax = 63;    // NAMEDATALEN - 1
constexpr std::size_t kTopicBytesMax = 249;  // Kafka's Topic.MAX_NAME_LENGTH

bool digit(char c) { return c >= '0' && c <= '9'; }
bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool upper(char c) { return c >= 'A' && c <= 'Z'; }
bool slot_letter(char c) { return lower(c) || digit(c) || c == '_'; }
bool topic_letter(char c) { return lower(c) || upper(c) || digit(c) || c == '.' || c == '_' || c == '-'; }

bool in_quotes(std::string_view name) { return name.size() > 1 && name.starts_with('"') && name.ends_with('"'); }

std::string valid_slot_name(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kNameBytesMax)) {
    if (upper(c)) {
      name.push_back(static_cast<char>(c - 'A' + 'a'));
    } else {
      name.push_back(slot_letter(c) ? c : '_');
    }
  }
  return name.find_first_not_of('_') == std::string::npos ? "walrelay" : name;
}

}  // namespace

std::string any_text(std::string_view /*text*/) { return {}; }

std::string slot_name_problem(std::string_view text) {
  const bool letters = std::all_of(text.begin(), text.end(), slot_letter);
  if (letters && !text.empty() && text.size() <= kNameBytesMax) return {};
  return fmt::format("a slot name is 1 to 63 of a-z, 0-9 and _; for example \"{}\"", valid_slot_name(text));
}

std::string publication_problem(std::string_view text) {
  if (!text.empty() && text.size() <= kNameBytesMax && text.find('\0') == std::string_view::npos) return {};
  return "a publication name is 1 to 63 bytes long; for example \"walrelay\"";
}

std::string dsn_problem(std::string_view text) { return text.empty() ? std::string() : conninfo_problem(text); }

std::string table_problem(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) {
    return fmt::format("the schema is missing; for example \"public.{}\"", text.empty() ? "outbox" : text);
  }
  if (dot == 0 || dot + 1 == text.size()) {
    return "schema and table must both have a name; for example \"public.outbox\"";
  }
  if (!in_quotes(text.substr(0, dot)) && !in_quotes(text.substr(dot + 1))) return {};
  std::string plain(text);
  std::erase(plain, '"');
  return fmt::format("quotes belong to SQL, not to the name; write {}", plain);
}

std::string column_problem(std::string_view text) {
  if (!text.starts_with('{') || !text.ends_with('}')) return {};
  return fmt::format("is a column, not a template; write \"{}\"", text.substr(1, text.size() - 2));
}

std::string after_problem(std::string_view text) {
  return text.empty() || text == "ack" ? std::string() : "there is only \"ack\"; for an age use keep";
}

std::string listen_problem(std::string_view text) {
  if (text.empty() || parse_listen_address(text)) return {};
  return "not a host:port; for example \"127.0.0.1:9464\", \"[::1]:9464\", \"0.0.0.0:9464\" for all addresses, or \"\" "
         "for "
         "no HTTP";
}

std::string topic_problem(std::string_view text) {
  const bool letters = std::all_of(text.begin(), text.end(), topic_letter);
  if (letters && text.size() <= kTopicBytesMax && text != "." && text != "..") return {};
  return "not a topic name: Kafka allows 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-'";
}

}  // namespace walrelay
