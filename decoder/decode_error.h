#pragma once
// Why bytes from the server could not be understood. A value, not an exception: the caller decides what it means for
// the session.

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace walrelay {

enum class DecodeErrorKind : std::uint8_t {
  none,                 // decoded
  truncated,            // the message ends inside a field; found: bytes left
  unterminated_string,  // no zero byte ends the name; found: bytes left
  left_over,            // bytes follow the message's last field; found: how many
  negative,             // a length or count below zero; found: that number
  oversized,            // a length or count that cannot fit into the bytes left; found: that number
  bad_value,            // a flag or marker byte that the manual does not list; found: that byte
  unknown_tag,          // no message begins with this byte; found: that byte
  streaming_message,    // of a transaction in progress (protocol 2+), which was not asked for; found: the tag
  two_phase_message,    // of a prepared transaction (protocol 3+), which was not asked for; found: the tag
};

inline constexpr std::array<std::string_view, 10> kDecodeErrorTexts = {
    "no error",
    "message ends inside a field",
    "string without its terminating zero byte",
    "bytes left over after the last field",
    "negative length or count",
    "length or count larger than the message",
    "byte that the protocol does not define",
    "unknown message tag",
    "message of a streamed transaction, although streaming is off",
    "message of a prepared transaction, although two-phase decoding is off",
};

[[nodiscard]] constexpr std::string_view to_string(DecodeErrorKind kind) {
  return kDecodeErrorTexts[static_cast<std::size_t>(kind)];
}

struct [[nodiscard]] DecodeError {
  DecodeErrorKind kind = DecodeErrorKind::none;
  std::size_t offset = 0;  // of the offending field, in bytes from the start of what was given to the decoder
  std::int64_t found = 0;  // see DecodeErrorKind

  constexpr bool operator==(const DecodeError&) const = default;
  [[nodiscard]] constexpr bool failed() const { return kind != DecodeErrorKind::none; }

  // For people: "unknown message tag at byte 0 (found 81)".
  [[nodiscard]] std::string to_string() const {
    return fmt::format("{} at byte {} (found {})", walrelay::to_string(kind), offset, found);
  }
};

}  // namespace walrelay
