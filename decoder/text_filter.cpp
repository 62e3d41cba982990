#include "decoder/text_filter.h"

#include <algorithm>

#include "decoder/characters.h"

namespace walrelay {
namespace {

// Not those of <cctype>: they depend on the locale.
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_separator(char c) { return c == '_' || c == '-' || c == ' '; }
constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

// A capital starts a word after a small letter or digit, or as the last capital of several before a small letter.
bool starts_word(std::string_view text, std::size_t at) {
  if (at == 0 || !is_upper(text[at])) return false;
  const char before = text[at - 1];
  if (is_lower(before) || is_digit(before)) return true;
  return is_upper(before) && at + 1 < text.size() && is_lower(text[at + 1]);
}

// Appends the words behind the text itself and then removes the text: no second buffer.
void join_words(std::string& text, std::size_t from, char joint) {
  const std::size_t end = text.size();
  bool pending = false;
  for (std::size_t i = from; i < end; ++i) {
    const char c = text[i];
    if (is_separator(c)) {
      pending = true;
      continue;
    }
    pending = pending || starts_word(std::string_view(text).substr(from, end - from), i - from);
    const bool first = text.size() == end || text.back() == '.';
    if (pending && !first && c != '.') text.push_back(joint);
    text.push_back(to_lower(c));
    pending = false;
  }
  text.erase(from, end - from);
}

}  // namespace

std::optional<TextFilter> parse_text_filter(std::string_view name) {
  const auto* const found = std::find(kTextFilterNames.begin(), kTextFilterNames.end(), name);
  if (found == kTextFilterNames.end()) return std::nullopt;
  return static_cast<TextFilter>(found - kTextFilterNames.begin());
}

void apply_text_filter(TextFilter filter, std::string& text, std::size_t from) {
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(from);
  switch (filter) {
    case TextFilter::lower:
      std::transform(begin, text.end(), begin, to_lower);
      return;
    case TextFilter::upper:
      std::transform(begin, text.end(), begin, to_upper);
      return;
    case TextFilter::snake:
      join_words(text, from, '_');
      return;
    case TextFilter::kebab:
      join_words(text, from, '-');
      return;
  }
}

}  // namespace walrelay
