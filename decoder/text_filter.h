#pragma once
// The filters of templates: {column|lower|kebab}.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace walrelay {

// ASCII letters only; other bytes, also those of UTF-8 sequences, stay as they are.
enum class TextFilter : std::uint8_t {
  lower,
  upper,
  snake,  // OrderPlaced, orderPlaced, order-placed, "order placed" -> order_placed; HTTPServer -> http_server; dots
          // stay
  kebab,  // the same with "-"
};

inline constexpr std::array<std::string_view, 4> kTextFilterNames = {"lower", "upper", "snake", "kebab"};

[[nodiscard]] std::optional<TextFilter> parse_text_filter(std::string_view name);

// Filters the text from byte `from` to its end.
void apply_text_filter(TextFilter filter, std::string& text, std::size_t from);

}  // namespace walrelay
