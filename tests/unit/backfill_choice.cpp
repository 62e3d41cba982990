// --backfill.

#include "connector/backfill_choice.h"

#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

using Rows = BackfillChoice::Rows;

TEST_CASE("a backfill is of no, unprocessed or all rows, or of those since a time") {
  CHECK(parse_backfill_choice("none")->rows == Rows::none);
  CHECK(parse_backfill_choice("all")->filter().everything());
  CHECK(parse_backfill_choice("unprocessed")->filter().unprocessed);
  const auto since = parse_backfill_choice("since=2026-11-29 12:00:00+01");
  REQUIRE(since);
  CHECK(since->filter().since_ms == 1'795'950'000'000);
  CHECK(since->describe() == "rows since 2026-11-29T11:00:00.000Z");
  for (const auto* same : {"2026-11-29T11:00:00Z", "2026-11-29T11:00", "2026-11-29 11:00Z", "2026-11-29 12:00+01"}) {
    CAPTURE(same);
    const auto choice = parse_backfill_choice(std::string("since=") + same);
    REQUIRE(choice);
    CHECK(choice->since_ms == since->since_ms);
  }
  for (const auto* none : {"2026-11-29 11", "2026-11-29 11:0", "2026-11-29 11:0x", "2026-11-29 11:00:", "T11:00"}) {
    CAPTURE(none);
    CHECK_FALSE(parse_backfill_choice(std::string("since=") + none));
  }
  CHECK(parse_backfill_choice("since=2026-11-29")->since_ms == since->since_ms - 11 * 3'600'000);
  for (const char* wrong : {"", "some", "since", "since=", "since=yesterday", "since=2026-13-01", "ALL"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_backfill_choice(wrong));
  }
}

}  // namespace
}  // namespace walrelay::test
