#pragma once
// Base64 with padding (RFC 4648, section 4).

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace walrelay {

[[nodiscard]] inline std::string to_base64(std::string_view bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  while (!bytes.empty()) {
    std::array<unsigned, 3> group{};
    const std::size_t count = bytes.size() < group.size() ? bytes.size() : group.size();
    for (std::size_t i = 0; i < count; ++i) group[i] = static_cast<unsigned char>(bytes[i]);
    bytes.remove_prefix(count);
    const unsigned bits = group[0] << 16U | group[1] << 8U | group[2];
    for (std::size_t i = 0; i < 4; ++i) text += i <= count ? kAlphabet[bits >> (18 - 6 * i) & 0x3FU] : '=';
  }
  return text;
}

}  // namespace walrelay
