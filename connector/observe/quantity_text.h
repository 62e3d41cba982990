#pragma once
// Sizes and spans of time as people read them, for text that is not parsed. The status page's script has the same.

#include <cstdint>
#include <optional>
#include <string>

namespace walrelay {

// "512 B", "1.5 KiB", "130 MiB", "-5 B".
[[nodiscard]] std::string bytes_text(std::int64_t bytes);

// "0.005 s", "1.5 s", "42 s", "2 min 5 s", "2 d 22 h". `seconds` is not negative.
[[nodiscard]] std::string duration_text(double seconds);

// What may still be written before a slot is lost; `safe_bytes`: none where the server has no limit.
[[nodiscard]] std::string room_text(const std::optional<std::int64_t>& safe_bytes);

}  // namespace walrelay
