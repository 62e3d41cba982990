#pragma once
// A position in PostgreSQL's write-ahead log: a byte offset, printed as two hexadecimal halves ("16/B374D848").
// PostgreSQL manual, "pg_lsn Type". A type of its own, so that it is never mixed up with a count or a time.

#include <fmt/format.h>

#include <charconv>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace walrelay {

struct Lsn {
  std::uint64_t value = 0;  // bytes from the start of the log; 0 is PostgreSQL's "invalid"

  constexpr auto operator<=>(const Lsn&) const = default;
  [[nodiscard]] constexpr bool valid() const { return value != 0; }

  [[nodiscard]] std::string to_string() const { return fmt::format("{:X}/{:X}", value >> 32U, value & 0xFFFFFFFFU); }

  // Nothing but two hexadecimal numbers of at most 8 digits around a slash is accepted.
  [[nodiscard]] static std::optional<Lsn> parse(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    const auto high = parse_half(text.substr(0, slash));
    const auto low = parse_half(text.substr(slash + 1));
    if (!high || !low) return std::nullopt;
    return Lsn{(std::uint64_t{*high} << 32U) | *low};
  }

 private:
  static std::optional<std::uint32_t> parse_half(std::string_view digits) {
    if (digits.empty() || digits.size() > 8) return std::nullopt;
    std::uint32_t half = 0;
    const auto* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, half, 16);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return half;
  }
};

}  // namespace walrelay
