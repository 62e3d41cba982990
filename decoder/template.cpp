#include "decoder/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "decoder/nearest_name.h"
#include "decoder/rule_error.h"

namespace walrelay {

class TemplateParser {
 public:
  TemplateParser(std::string_view name, std::string_view text) : name_(name), text_(text) {}

  Template parse() {
    result_.text_ = text_;
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("{{") || rest.starts_with("}}")) {
        literal_.push_back(rest.front());
        at_ += 2;
      } else if (rest.front() == '{') {
        reference();
      } else if (rest.front() == '}') {
        fail(at_, R"("}" without "{")", R"(write "}}" for a brace)");
      } else {
        literal_.push_back(text_[at_++]);
      }
    }
    end_literal();
    return std::move(result_);
  }

 private:
  void reference() {
    const std::size_t open = at_;
    const std::size_t close = text_.find('}', open);
    if (close == std::string_view::npos) fail(open, R"("{" without "}")", R"(close it, or write "{{" for a brace)");
    if (const std::size_t inner = text_.find('{', open + 1); inner < close) {
      fail(inner, R"("{" within a reference)", R"(close the reference with "}" first)");
    }
    end_literal();
    inside(open + 1, close);
    at_ = close + 1;
  }

  // column[/pointer][|filter...] between `begin` and `end`
  void inside(std::size_t begin, std::size_t end) {
    TemplateReference reference;
    const std::string_view body = text_.substr(begin, end - begin);
    const std::size_t path_end = std::min(body.find('|'), body.size());
    const std::size_t column_end = std::min(body.find('/'), path_end);
    reference.column = body.substr(0, column_end);
    if (reference.column.empty()) fail(begin, "no column is named", "write {column}");
    if (column_end < path_end) {
      reference.pointer = JsonPointer::parse(body.substr(column_end, path_end - column_end));
      if (!reference.pointer) {
        fail(begin + column_end, R"("~" in a JSON pointer is not followed by 0 or 1)",
             R"(write ~0 for "~", ~1 for "/")");
      }
    }
    for (std::size_t i = path_end; i < body.size();) {
      const std::size_t stop = std::min(body.find('|', i + 1), body.size());
      reference.filters.push_back(filter(begin + i + 1, body.substr(i + 1, stop - i - 1)));
      i = stop;
    }
    result_.pieces_.push_back({"", result_.references_.size()});
    result_.references_.push_back(std::move(reference));
  }

  [[nodiscard]] TextFilter filter(std::size_t at, std::string_view name) const {
    while (name.starts_with(' ')) name.remove_prefix(1), ++at;
    while (name.ends_with(' ')) name.remove_suffix(1);
    const auto parsed = parse_text_filter(name);
    if (parsed) return *parsed;
    const auto known = fmt::format("{}", fmt::join(kTextFilterNames, ", "));
    const auto nearest = nearest_name(name, kTextFilterNames);
    fail(at, fmt::format("unknown filter \"{}\"", name),
         nearest.empty() ? "filters are " + known : fmt::format("did you mean \"{}\"? Filters are {}", nearest, known));
  }

  void end_literal() {
    if (!literal_.empty()) result_.pieces_.push_back({std::exchange(literal_, {}), Template::kNone});
  }

  // The position is counted in characters from 1, as an editor shows it.
  [[noreturn]] void fail(std::size_t at, std::string_view reason, std::string_view remedy) const {
    const auto is_first_byte = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
    const auto before = text_.substr(0, at);
    const auto position = std::count_if(before.begin(), before.end(), is_first_byte) + 1;
    throw RuleError(fmt::format("{}: template \"{}\", position {}: {}; {}", name_, text_, position, reason, remedy));
  }

  std::string_view name_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::string literal_;
  Template result_;
};

Template Template::compile(std::string_view name, std::string_view text) { return TemplateParser(name, text).parse(); }

Filled Template::fill(Row row, std::span<const std::size_t> columns, JsonReader& json, std::string& scratch) const {
  if (pieces_.empty()) return {std::string_view{}};
  if (pieces_.size() == 1 && references_.empty()) return {pieces_.front().literal};
  scratch.clear();
  for (const auto& piece : pieces_) {
    if (piece.reference == kNone) {
      scratch.append(piece.literal);
      continue;
    }
    const auto filled = append(references_[piece.reference], row[columns[piece.reference]], json, scratch);
    if (filled.error != FillError::none || single_reference()) return filled;
  }
  return {std::string_view(scratch)};
}

// The text is appended, except that a lone column is only pointed to.
Filled Template::append(const TemplateReference& reference, const ColumnValue& value, JsonReader& json,
                        std::string& out) const {
  if (value.kind == ColumnKind::null) return {};
  if (value.kind == ColumnKind::unchanged_toast) return {std::nullopt, FillError::missing_value, &reference};
  if (value.kind == ColumnKind::binary) return {std::nullopt, FillError::not_text, &reference};
  if (passes_through()) return {value.bytes};
  const std::size_t start = out.size();
  if (!reference.pointer) {
    out.append(value.bytes);
  } else if (const auto lookup = json.find(value.bytes, *reference.pointer, out); lookup != JsonLookup::found) {
    if (lookup == JsonLookup::null) return {};
    return {std::nullopt, FillError::invalid_json, &reference};
  }
  for (const auto filter : reference.filters) apply_text_filter(filter, out, start);
  return {std::string_view(out)};
}

}  // namespace walrelay
