#pragma once
// A time on the command line.

#include <cstdint>
#include <optional>
#include <string_view>

namespace walrelay {

// Milliseconds since 1970-01-01 UTC, of what parse_event_time() takes; the seconds may be left out.
[[nodiscard]] std::optional<std::int64_t> parse_given_time(std::string_view text);

}  // namespace walrelay
