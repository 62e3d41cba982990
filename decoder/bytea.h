#pragma once
// bytea in PostgreSQL's hexadecimal output format: "\x00ff". PostgreSQL manual, "Binary Data Types".

#include <cstdint>
#include <string>
#include <string_view>

namespace walrelay {

inline constexpr std::uint32_t kByteaTypeId = 17;  // pg_type.oid, the same on every server

// Replaces `out` by the bytes; false if the text is not "\x" and pairs of hexadecimal digits.
[[nodiscard]] bool decode_bytea(std::string_view text, std::string& out);

}  // namespace walrelay
