#pragma once
// Quantities as people write them: "7d", "500ms", "64MiB".

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace walrelay {

// Units ms, s, m, h, d. No value if it is not a whole number with one of them; what is too large for the type becomes
// its maximum, so that the caller's range check names it.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
[[nodiscard]] std::string print_duration(std::chrono::milliseconds duration);

// Units B, kB, MB, GB (powers of 1000) and KiB, MiB, GiB (powers of 1024); a number alone is bytes.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);
[[nodiscard]] std::string print_size(std::uint64_t bytes);

[[nodiscard]] std::optional<std::uint64_t> parse_count(std::string_view text);

}  // namespace walrelay
