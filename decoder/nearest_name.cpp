#include "decoder/nearest_name.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace walrelay {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: the swap of two neighbours looks two rows back.
  std::array<std::vector<std::size_t>, 3> rows;
  rows.fill(std::vector<std::size_t>(b.size() + 1));
  std::iota(rows[0].begin(), rows[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], rows[(i + 1) % 3][j - 2] + 1);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::string_view nearest_name(std::string_view wrong, std::span<const std::string_view> names) {
  constexpr std::size_t kLongest = 200;  // no name is that long; a larger table would only cost time
  if (wrong.size() > kLongest) return {};
  std::string_view nearest;
  std::size_t allowed = std::max<std::size_t>(1, wrong.size() / 3);
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(wrong, name);
    if (distance > allowed || (distance == allowed && !nearest.empty())) continue;
    nearest = name;
    allowed = distance;
  }
  return nearest;
}

}  // namespace walrelay
