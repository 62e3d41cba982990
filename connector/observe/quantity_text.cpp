#include "connector/observe/quantity_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace walrelay {

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const int digits = unit > 0 && std::abs(value) < 100 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, digits, kUnits.at(unit));
}

std::string duration_text(double seconds) {
  if (seconds < 10) return fmt::format("{:.{}f} s", seconds, seconds > 0 && seconds < 0.1 ? 3 : 1);
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  struct Unit {
    std::string_view name;
    std::int64_t seconds;
  };
  constexpr std::array<Unit, 4> kUnits = {{{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}}};
  const auto whole = static_cast<std::int64_t>(seconds);
  std::size_t first = 0;
  while (whole < kUnits.at(first).seconds) ++first;
  const auto& big = kUnits.at(first);
  const auto& small = kUnits.at(first + 1);
  const auto rest = whole % big.seconds / small.seconds;
  auto text = fmt::format("{} {}", whole / big.seconds, big.name);
  if (rest > 0) text += fmt::format(" {} {}", rest, small.name);
  return text;
}

std::string room_text(const std::optional<std::int64_t>& safe_bytes) {
  if (!safe_bytes) return "without limit";
  if (*safe_bytes <= 0) return "past its limit: the slot can be lost any moment";
  return bytes_text(*safe_bytes) + " more until the slot is lost";
}

}  // namespace walrelay
