#pragma once
// Whether bytes are one JSON value (RFC 8259), so that they can be put into a larger JSON text as they are.

#include <cstdint>
#include <string>
#include <string_view>

namespace walrelay {

// Keeps the buffer of open brackets from call to call. Depth is bounded by the text's length only.
class JsonChecker {
 public:
  // `text` is valid UTF-8 (see utf8.h); numbers of any size, lone surrogates in \u escapes and repeated keys are JSON.
  [[nodiscard]] bool is_json(std::string_view text);

 private:
  enum class Expect : std::uint8_t { value, comma_or_end, nothing };

  void skip_blanks();
  bool take(char c);
  bool take_word(std::string_view word);
  bool take_digits();
  bool take_number();
  bool take_string();
  bool take_escape();
  bool take_key();
  bool take_value(Expect& next);
  bool take_opening(Expect& next);
  bool take_comma_or_end(Expect& next);
  [[nodiscard]] Expect after_value() const { return open_.empty() ? Expect::nothing : Expect::comma_or_end; }

  std::string_view rest_;
  std::string open_;  // the closing bracket of each open one
};

}  // namespace walrelay
