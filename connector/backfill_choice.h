#pragma once
// Which rows from before a slot are to be published when it is made: `--backfill`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "connector/postgres/row_query.h"

namespace walrelay {

struct BackfillChoice {
  enum class Rows : std::uint8_t { none, unprocessed, all, since };
  Rows rows = Rows::none;
  std::int64_t since_ms = 0;  // milliseconds since 1970-01-01 UTC

  [[nodiscard]] RowFilter filter() const;
  [[nodiscard]] std::string describe() const;  // "all rows"
};

inline constexpr std::string_view kBackfillForms = "unprocessed, all, since=TIME or none";

// "unprocessed", "all", "since=2026-11-29 12:00:00+01", "none"; nothing for any other text.
[[nodiscard]] std::optional<BackfillChoice> parse_backfill_choice(std::string_view text);

}  // namespace walrelay
