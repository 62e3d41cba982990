#include "decoder/event_time.h"

#include <limits>
#include <string>

#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

TEST_CASE("event time: PostgreSQL's and ISO 8601's forms give milliseconds since 1970") {
  const auto [text, ms] = GENERATE(table<std::string, std::int64_t>({
      {"2024-02-29 12:34:56.789123+00", 1709210096789},
      {"2024-02-29 12:34:56.789999", 1709210096789},
      {"2024-02-29 12:34:56+00", 1709210096000},
      {"2024-02-29 14:34:56.5+02", 1709210096500},
      {"2024-02-29 09:04:56-03:30", 1709210096000},
      {"2024-02-29 12:34:56+00:00:00", 1709210096000},
      {"2024-02-29T12:34:56.789Z", 1709210096789},
      {"2024-02-29", 1709164800000},
      {"1970-01-01 00:00:00.001+00", 1},
      {"1999-12-31 23:59:59.999+00", 946684799999},
      {"9999-12-31 23:59:59.999999+00", 253402300799999},
      {"10000-01-01", 253402300800000},
      {"294276-12-31 23:59:59.999999+00", 9224318015999999},
      {"1709210096789", 1709210096789},
      {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
  }));
  CAPTURE(text);
  CHECK(parse_event_time(text) == ms);
}

TEST_CASE("event time: what Kafka cannot carry and what is no time is nothing") {
  for (const std::string text : {"",
                                 "infinity",
                                 "-infinity",
                                 "0044-03-15 12:00:00+00 BC",
                                 "0044-03-15 BC",
                                 "1970-01-01 00:00:00+00",
                                 "1970-01-01",
                                 "1969-12-31 23:59:59.999+00",
                                 "0001-01-01",
                                 "0",
                                 "-1",
                                 "-5000",
                                 "9223372036854775808",
                                 "99999999999999999999",
                                 "hello",
                                 "2023-02-29",
                                 "2024-13-01",
                                 "2024-00-10",
                                 "2024-01-32",
                                 "2024-01-01 25:00:00",
                                 "2024-01-01 12:60:00",
                                 "2024-01-01 12:00",
                                 "2024-01-01 12:00:00.",
                                 "2024-01-01 12:00:00+",
                                 "2024-01-01 12:00:00 x",
                                 "2024-1-1",
                                 "294277-01-01",
                                 "9999999-01-01",
                                 "12.5",
                                 "2024-01-01 ",
                                 "Thu Feb 29 12:00:00 2024"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_event_time(text));
  }
}

TEST_CASE("commit time: PostgreSQL's epoch becomes Unix', never 0") {
  CHECK(commit_time_ms(0) == 946'684'800'000);
  CHECK(commit_time_ms(1'999) == 946'684'800'001);
  CHECK(commit_time_ms(-1) == 946'684'799'999);
  CHECK(commit_time_ms(std::numeric_limits<std::int64_t>::min()) == 1);
  CHECK(commit_time_ms(-946'684'800'000'000) == 1);
}

}  // namespace
}  // namespace walrelay::test
