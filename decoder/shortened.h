#pragma once
// Texts of events in messages to people: a hostile topic or id may be a megabyte long.

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace walrelay {

// At most so many bytes of it, up to a whole character: what goes into a text column, as a reason may, has to be UTF-8.
[[nodiscard]] constexpr std::string_view shortened(std::string_view text) {
  constexpr std::size_t kBytesMax = 300;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  auto size = std::min(text.size(), kBytesMax);
  while (size < text.size() && size > 0 && continues(text[size])) --size;
  return text.substr(0, size);
}

}  // namespace walrelay
