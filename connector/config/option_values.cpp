#include "connector/config/option_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <utility>

namespace walrelay {
namespace {

using Unit = std::pair<std::string_view, std::uint64_t>;

constexpr std::array<Unit, 5> kDurationUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::array<Unit, 7> kSizeUnits = {{{"GiB", 1ULL << 30U},
                                             {"MiB", 1ULL << 20U},
                                             {"KiB", 1ULL << 10U},
                                             {"GB", 1'000'000'000},
                                             {"MB", 1'000'000},
                                             {"kB", 1'000},
                                             {"B", 1}}};
constexpr std::uint64_t kMaximum = std::numeric_limits<std::int64_t>::max();

struct Quantity {
  std::uint64_t number;
  std::string_view unit;
};

std::optional<Quantity> split(std::string_view text) {
  Quantity quantity{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, quantity.number);
  if (error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) quantity.number = kMaximum;
  quantity.unit = std::string_view(stop, static_cast<std::size_t>(end - stop));
  while (quantity.unit.starts_with(' ')) quantity.unit.remove_prefix(1);
  return quantity;
}

std::optional<std::uint64_t> scale(const Quantity& quantity, std::span<const Unit> units) {
  for (const auto& [name, factor] : units) {
    if (name != quantity.unit) continue;
    return quantity.number > kMaximum / factor ? kMaximum : quantity.number * factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto quantity = split(text);
  if (!quantity) return std::nullopt;
  const auto milliseconds = scale(*quantity, kDurationUnits);
  if (!milliseconds) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(*milliseconds));
}

std::string print_duration(std::chrono::milliseconds duration) {
  const auto count = static_cast<std::uint64_t>(duration.count());
  for (const auto& [name, factor] : kDurationUnits) {
    // "60s" reads better than "1m": a larger unit only where there are several of it.
    const std::uint64_t least = factor > 1000 ? 2 * factor : factor;
    if (count >= least && count % factor == 0) return fmt::format("{}{}", count / factor, name);
  }
  return "0s";
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  auto quantity = split(text);
  if (!quantity) return std::nullopt;
  if (quantity->unit.empty()) quantity->unit = "B";
  return scale(*quantity, kSizeUnits);
}

std::string print_size(std::uint64_t bytes) {
  for (const auto& [name, factor] : kSizeUnits) {
    if (bytes >= factor && bytes % factor == 0) return fmt::format("{}{}", bytes / factor, name);
  }
  return "0B";
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  const auto quantity = split(text);
  if (!quantity || !quantity->unit.empty()) return std::nullopt;
  return quantity->number;
}

}  // namespace walrelay
