#include "decoder/json_pointer.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "decoder/characters.h"

namespace walrelay {
namespace {

namespace ondemand = simdjson::ondemand;
using Tokens = std::span<const JsonPointer::Token>;

// A buffer that one huge row has blown up is given back at the next row of ordinary size.
constexpr std::size_t kKeepBytes = std::size_t{4} << 20U;
constexpr std::size_t kOrdinaryBytes = std::size_t{1} << 20U;

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string_view skip_digits(std::string_view text) {
  const auto* const end = std::find_if_not(text.begin(), text.end(), is_digit);
  return text.substr(static_cast<std::size_t>(end - text.begin()));
}

// RFC 8259, "Numbers". Own, because the parser's check refuses numbers that no double can hold.
bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.empty() || !is_digit(text.front())) return false;
  text = text.front() == '0' ? text.substr(1) : skip_digits(text);
  if (text.starts_with('.')) {
    const auto rest = skip_digits(text.substr(1));
    if (rest.size() + 1 == text.size()) return false;
    text = rest;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    return !text.empty() && skip_digits(text).empty();
  }
  return text.empty();
}

bool is_literal(std::string_view text) {
  return text == "null" || text == "true" || text == "false" || is_number(text);
}

JsonLookup append_string(ondemand::value& value, std::string& out) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) return JsonLookup::invalid;
  out.append(text);
  return JsonLookup::found;
}

JsonLookup append_value(ondemand::value& value, std::string& out) {
  ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return JsonLookup::invalid;
  if (type == ondemand::json_type::string) return append_string(value, out);
  std::string_view raw;
  if (simdjson::to_json_string(value).get(raw) != simdjson::SUCCESS) return JsonLookup::invalid;
  raw = trim(raw);
  const bool nested = type == ondemand::json_type::object || type == ondemand::json_type::array;
  if (!nested && !is_literal(raw)) return JsonLookup::invalid;
  if (raw == "null") return JsonLookup::null;
  out.append(raw);
  return JsonLookup::found;
}

template <typename Node>
JsonLookup walk(Node& node, Tokens tokens, std::string& out);

JsonLookup walk_value(ondemand::value& value, Tokens tokens, std::string& out) {
  return tokens.empty() ? append_value(value, out) : walk(value, tokens, out);
}

// All members are visited: the last one of the name counts, and what stands behind must be JSON too.
template <typename Node>
JsonLookup walk_object(Node& node, Tokens tokens, std::string& out) {
  const std::size_t start = out.size();
  auto result = JsonLookup::null;
  ondemand::object object;
  if (node.get_object().get(object) != simdjson::SUCCESS) return JsonLookup::invalid;
  for (auto member : object) {
    ondemand::field field;
    if (std::move(member).get(field) != simdjson::SUCCESS) return JsonLookup::invalid;
    std::string_view name;
    // A key that is not Unicode is not the one looked for.
    if (field.unescaped_key().get(name) != simdjson::SUCCESS || name != tokens.front().name) continue;
    out.resize(start);
    result = walk_value(field.value(), tokens.subspan(1), out);
    if (result == JsonLookup::invalid) return result;
  }
  return result;
}

template <typename Node>
JsonLookup walk_array(Node& node, Tokens tokens, std::string& out) {
  auto result = JsonLookup::null;
  ondemand::array array;
  if (node.get_array().get(array) != simdjson::SUCCESS) return JsonLookup::invalid;
  std::size_t index = 0;
  for (auto element : array) {
    ondemand::value value;
    if (std::move(element).get(value) != simdjson::SUCCESS) return JsonLookup::invalid;
    if (tokens.front().index == index++) result = walk_value(value, tokens.subspan(1), out);
    if (result == JsonLookup::invalid) return result;
  }
  return result;
}

template <typename Node>
JsonLookup walk(Node& node, Tokens tokens, std::string& out) {
  ondemand::json_type type{};
  if (node.type().get(type) != simdjson::SUCCESS) return JsonLookup::invalid;
  if (type == ondemand::json_type::object) return walk_object(node, tokens, out);
  if (type == ondemand::json_type::array) return walk_array(node, tokens, out);
  return JsonLookup::null;  // nothing below a scalar
}

bool read_member(ondemand::field& field, JsonMember& member) {
  if (field.unescaped_key().get(member.name) != simdjson::SUCCESS) return false;
  ondemand::json_type type{};
  if (field.value().type().get(type) != simdjson::SUCCESS) return false;
  const bool nested = type == ondemand::json_type::object || type == ondemand::json_type::array;
  if (type == ondemand::json_type::string) {
    member.kind = JsonKind::string;
    member.raw = trim(field.value().raw_json_token());
    return field.value().get_string().get(member.text) == simdjson::SUCCESS;
  }
  if (simdjson::to_json_string(field.value()).get(member.raw) != simdjson::SUCCESS) return false;
  member.raw = member.text = trim(member.raw);
  member.kind = member.raw == "null" ? JsonKind::null : JsonKind::other;
  return nested || is_literal(member.raw);
}

}  // namespace

std::optional<JsonPointer> JsonPointer::parse(std::string_view text) {
  if (text.empty()) return std::nullopt;
  JsonPointer pointer;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') {
      pointer.tokens.emplace_back();
    } else if (pointer.tokens.empty()) {
      return std::nullopt;
    } else if (text[i] != '~') {
      pointer.tokens.back().name.push_back(text[i]);
    } else {
      const std::string_view escape = text.substr(i++, 2);
      if (escape != "~0" && escape != "~1") return std::nullopt;
      pointer.tokens.back().name.push_back(escape == "~0" ? '~' : '/');
    }
  }
  for (auto& [name, index] : pointer.tokens) {
    std::size_t number = 0;
    const auto* const end = name.data() + name.size();
    const bool canonical = name == "0" || (!name.empty() && name.front() != '0');
    const auto [stop, error] = std::from_chars(name.data(), end, number);
    if (canonical && error == std::errc{} && stop == end) index = number;
  }
  return pointer;
}

struct JsonReader::Parse {
  ondemand::parser parser;
  std::string padded;
  ondemand::document document;
  std::string_view loaded;  // what the document was made of; empty: nothing

  bool load(std::string_view json) {
    if (!loaded.empty() && loaded.data() == json.data() && loaded.size() == json.size()) {
      document.rewind();
      return true;
    }
    loaded = {};
    if (!reserve(json.size())) return false;
    padded.assign(json);
    const simdjson::padded_string_view view(padded.data(), padded.size(), padded.capacity());
    if (parser.iterate(view).get(document) != simdjson::SUCCESS) return false;
    loaded = json;
    return true;
  }

  // simdjson reads past the end of its input, and makes room for exactly what it is given: grow by doubling instead.
  bool reserve(std::size_t size) {
    if (padded.capacity() > kKeepBytes && size <= kOrdinaryBytes) {
      padded = std::string();
      parser = ondemand::parser();
    }
    if (padded.capacity() < size + simdjson::SIMDJSON_PADDING) {
      padded.reserve(std::max(size + simdjson::SIMDJSON_PADDING, 2 * padded.capacity()));
    }
    if (parser.capacity() >= padded.capacity()) return true;
    return parser.allocate(padded.capacity(), parser.max_depth()) == simdjson::SUCCESS;
  }

  JsonLookup find(Tokens tokens, std::string& out) {
    const auto result = walk(document, tokens, out);
    if (result == JsonLookup::invalid) return result;
    return complete() ? result : JsonLookup::invalid;
  }

  // Nothing but blanks may follow; of a scalar nothing has been read yet.
  bool complete() {
    const auto text = trim(padded);
    if (text.starts_with('{') || text.starts_with('[')) return at_end();
    return text.starts_with('"') || is_literal(text);
  }

  bool at_end() { return document.current_location().error() == simdjson::OUT_OF_BOUNDS; }
};

JsonReader::JsonReader() : parse_(std::make_unique<Parse>()) {}
JsonReader::JsonReader(JsonReader&&) noexcept = default;
JsonReader& JsonReader::operator=(JsonReader&&) noexcept = default;
JsonReader::~JsonReader() = default;

void JsonReader::forget() { parse_->loaded = {}; }

JsonLookup JsonReader::find(std::string_view json, const JsonPointer& pointer, std::string& out) {
  const std::size_t start = out.size();
  if (!parse_->load(json)) return JsonLookup::invalid;
  const auto result = parse_->find(pointer.tokens, out);
  if (result != JsonLookup::found) out.resize(start);
  if (result == JsonLookup::invalid) forget();
  return result;
}

bool JsonReader::members(std::string_view json, std::vector<JsonMember>& out) {
  out.clear();
  ondemand::object object;
  const bool loaded = parse_->load(json);
  forget();
  if (!loaded || parse_->document.get_object().get(object) != simdjson::SUCCESS) return false;
  for (auto member : object) {
    ondemand::field field;
    if (std::move(member).get(field) != simdjson::SUCCESS || !read_member(field, out.emplace_back())) return false;
  }
  return parse_->at_end();
}

}  // namespace walrelay
