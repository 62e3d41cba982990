#include "connector/backfill_choice.h"

#include <fmt/format.h>

#include "connector/given_time.h"
#include "connector/observe/time_text.h"

namespace walrelay {

using Rows = BackfillChoice::Rows;

RowFilter BackfillChoice::filter() const {
  RowFilter filter;
  filter.unprocessed = rows == Rows::unprocessed;
  if (rows == Rows::since) filter.since_ms = since_ms;
  return filter;
}

std::string BackfillChoice::describe() const {
  switch (rows) {
    case Rows::none:
      return "no rows";
    case Rows::unprocessed:
      return "rows whose processed_at is NULL";
    case Rows::all:
      return "all rows";
    case Rows::since:
      return fmt::format("rows since {}", iso_time((since_ms - kPgEpochUnixSeconds * 1000) * 1000));
  }
  return "";
}

std::optional<BackfillChoice> parse_backfill_choice(std::string_view text) {
  constexpr std::string_view kSince = "since=";
  if (text == "none") return BackfillChoice{Rows::none};
  if (text == "unprocessed") return BackfillChoice{Rows::unprocessed};
  if (text == "all") return BackfillChoice{Rows::all};
  if (!text.starts_with(kSince)) return std::nullopt;
  const auto since = parse_given_time(text.substr(kSince.size()));
  if (!since) return std::nullopt;
  return BackfillChoice{Rows::since, *since};
}

}  // namespace walrelay
