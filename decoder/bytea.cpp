#include "decoder/bytea.h"

#include <array>
#include <cstddef>

namespace walrelay {
namespace {

constexpr std::uint8_t kNoDigit = 0xFF;

constexpr std::array<std::uint8_t, 256> make_digits() {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (std::uint8_t i = 0; i < 10; ++i) digits[static_cast<std::size_t>('0') + i] = i;
  for (std::uint8_t i = 0; i < 6; ++i) {
    digits[static_cast<std::size_t>('a') + i] = static_cast<std::uint8_t>(10 + i);
    digits[static_cast<std::size_t>('A') + i] = static_cast<std::uint8_t>(10 + i);
  }
  return digits;
}

constexpr auto kDigits = make_digits();

}  // namespace

bool decode_bytea(std::string_view text, std::string& out) {
  if (!text.starts_with("\\x") || text.size() % 2 != 0) return false;
  text.remove_prefix(2);
  out.resize(text.size() / 2);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint8_t high = kDigits[static_cast<unsigned char>(text[2 * i])];
    const std::uint8_t low = kDigits[static_cast<unsigned char>(text[2 * i + 1])];
    if (high == kNoDigit || low == kNoDigit) return false;
    out[i] = static_cast<char>(high << 4U | low);
  }
  return true;
}

}  // namespace walrelay
