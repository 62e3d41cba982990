#pragma once
// "Did you mean ...?": the known name that a mistyped one is closest to.

#include <cstddef>
#include <span>
#include <string_view>

namespace walrelay {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string alignment), in
// bytes.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// The name with the smallest distance, "" if none is near enough to be meant: at most a third of the letters may
// differ. The view is the one that was passed in.
[[nodiscard]] std::string_view nearest_name(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace walrelay
