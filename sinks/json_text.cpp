#include "sinks/json_text.h"

#include <algorithm>

namespace walrelay {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

bool JsonChecker::is_json(std::string_view text) {
  rest_ = text;
  open_.clear();
  Expect next = Expect::value;
  while (next != Expect::nothing) {
    skip_blanks();
    if (next == Expect::value ? !take_value(next) : !take_comma_or_end(next)) return false;
  }
  skip_blanks();
  return rest_.empty();
}

void JsonChecker::skip_blanks() { rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_not_of(" \t\r\n"))); }

bool JsonChecker::take(char c) {
  if (!rest_.starts_with(c)) return false;
  rest_.remove_prefix(1);
  return true;
}

bool JsonChecker::take_word(std::string_view word) {
  if (!rest_.starts_with(word)) return false;
  rest_.remove_prefix(word.size());
  return true;
}

bool JsonChecker::take_digits() {
  std::size_t count = 0;
  while (count < rest_.size() && is_digit(rest_[count])) ++count;
  rest_.remove_prefix(count);
  return count > 0;
}

bool JsonChecker::take_number() {
  take('-');
  if (!take('0') && !take_digits()) return false;
  if (take('.') && !take_digits()) return false;
  if (!take('e') && !take('E')) return true;
  if (!take('+')) take('-');
  return take_digits();
}

bool JsonChecker::take_string() {
  if (!take('"')) return false;
  while (!rest_.empty()) {
    const char c = rest_.front();
    if (static_cast<unsigned char>(c) < 0x20) return false;
    rest_.remove_prefix(1);
    if (c == '"') return true;
    if (c == '\\' && !take_escape()) return false;
  }
  return false;
}

bool JsonChecker::take_escape() {
  constexpr std::string_view kSimple = "\"\\/bfnrt";
  constexpr std::size_t kHexDigits = 4;
  if (!take('u')) {
    if (rest_.empty() || kSimple.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  const auto digits = rest_.substr(0, kHexDigits);
  if (digits.size() < kHexDigits || !std::ranges::all_of(digits, is_hex_digit)) return false;
  rest_.remove_prefix(kHexDigits);
  return true;
}

bool JsonChecker::take_key() {
  skip_blanks();
  if (!take_string()) return false;
  skip_blanks();
  return take(':');
}

bool JsonChecker::take_value(Expect& next) {
  if (rest_.empty()) return false;
  const char c = rest_.front();
  if (c == '{' || c == '[') return take_opening(next);
  next = after_value();
  if (c == '"') return take_string();
  if (c == '-' || is_digit(c)) return take_number();
  return take_word("true") || take_word("false") || take_word("null");
}

bool JsonChecker::take_opening(Expect& next) {
  const char end = rest_.front() == '{' ? '}' : ']';
  rest_.remove_prefix(1);
  skip_blanks();
  if (take(end)) {
    next = after_value();
    return true;
  }
  open_.push_back(end);
  next = Expect::value;
  return end == ']' || take_key();
}

bool JsonChecker::take_comma_or_end(Expect& next) {
  if (take(open_.back())) {
    open_.pop_back();
    next = after_value();
    return true;
  }
  next = Expect::value;
  return take(',') && (open_.back() == ']' || take_key());
}

}  // namespace walrelay
