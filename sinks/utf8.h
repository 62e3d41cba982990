#pragma once
// UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing beyond U+10FFFF.

#include <cstddef>
#include <string_view>

namespace walrelay {

// Bytes of the character that `text` starts with, 0 if it starts with none. `text` is not empty.
[[nodiscard]] constexpr std::size_t utf8_character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto within = [&](std::size_t i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  // Only the second byte's range depends on the first.
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (!within(1, low, high)) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (!within(i, 0x80, 0xBF)) return 0;
  }
  return length;
}

[[nodiscard]] constexpr bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto length = utf8_character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace walrelay
