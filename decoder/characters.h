#pragma once
// Characters of ASCII; not those of <cctype>, which depend on the locale.

namespace walrelay {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace walrelay
