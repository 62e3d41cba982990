// Durations, sizes, numbers and host:port as people write them.

#include "connector/config/listen_address.h"
#include "connector/config/option_checks.h"
#include "connector/config/option_values.h"
#include "tests/support/catch.h"

namespace walrelay::test {

using std::chrono::milliseconds;

TEST_CASE("durations have a unit") {
  CHECK(parse_duration("500ms") == milliseconds(500));
  CHECK(parse_duration("60s") == milliseconds(60'000));
  CHECK(parse_duration("5m") == milliseconds(300'000));
  CHECK(parse_duration("2h") == milliseconds(7'200'000));
  CHECK(parse_duration("7d") == milliseconds(604'800'000));
  CHECK(parse_duration("10 s") == milliseconds(10'000));
}

TEST_CASE("what is not a whole number with a known unit is not a duration") {
  for (const auto* text : {"", "s", "10", "1.5s", "-1s", "+1s", "10S", "10sec", "s10", "10s ", "1h30m", "0x10s"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("sizes have units of 1000 and of 1024, and are bytes without one") {
  CHECK(parse_size("0") == 0U);
  CHECK(parse_size("123") == 123U);
  CHECK(parse_size("123B") == 123U);
  CHECK(parse_size("1kB") == 1'000U);
  CHECK(parse_size("1KiB") == 1'024U);
  CHECK(parse_size("64MiB") == 67'108'864U);
  CHECK(parse_size("64 MB") == 64'000'000U);
  CHECK(parse_size("2GiB") == 2'147'483'648U);
  CHECK(parse_size("2GB") == 2'000'000'000U);
}

TEST_CASE("what is not a whole number with a known unit is not a size") {
  for (const auto* text : {"", "MiB", "1.5MiB", "-1", "64M", "64mib", "64 MiB x"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_size(text));
  }
}

TEST_CASE("a quantity too large for its type does not wrap around") {
  CHECK(parse_duration("99999999999999999999d") > milliseconds(86'400'000));
  CHECK(parse_duration("9223372036854775807d") > milliseconds(86'400'000));
  CHECK(parse_size("99999999999999999999GiB") > std::uint64_t{1} << 60U);
  CHECK(parse_count("99999999999999999999") > std::uint64_t{1} << 60U);
}

TEST_CASE("a count is digits and nothing else") {
  CHECK(parse_count("100000") == 100'000U);
  for (const auto* text : {"", "ten", "1e3", "1_000", "-1", "1.0", "10 events"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_count(text));
  }
}

TEST_CASE("printed durations and sizes read back as the same") {
  for (const std::int64_t ms :
       {0, 1, 999, 1'000, 1'500, 10'000, 60'000, 90'000, 120'000, 3'600'000, 86'400'000, 604'800'000}) {
    CHECK(parse_duration(print_duration(milliseconds(ms))) == milliseconds(ms));
  }
  for (const std::uint64_t bytes : {0ULL, 1ULL, 1'000ULL, 1'024ULL, 67'108'864ULL, 64'000'000ULL, 1ULL << 33U}) {
    CHECK(parse_size(print_size(bytes)) == bytes);
  }
  CHECK(print_duration(milliseconds(60'000)) == "60s");
  CHECK(print_duration(milliseconds(604'800'000)) == "7d");
  CHECK(print_size(67'108'864) == "64MiB");
}

TEST_CASE("listen addresses are host:port, with brackets around IPv6") {
  CHECK(parse_listen_address("127.0.0.1:9464")->host == "127.0.0.1");
  CHECK(parse_listen_address("127.0.0.1:9464")->port == 9464);
  CHECK(parse_listen_address("[::1]:0")->host == "::1");
  CHECK(parse_listen_address("localhost:65535")->port == 65535);
  for (const auto* text :
       {"", "9464", ":9464", "::1:9464", "host:", "host:65536", "host:x", "a b:1", "http://x:1", "[]:1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_listen_address(text));
  }
}

TEST_CASE("an invalid slot name is answered with a valid one") {
  CHECK(slot_name_problem("walrelay_2").empty());
  CHECK(slot_name_problem(std::string(63, 'a')).empty());
  CHECK_THAT(slot_name_problem("My-Slot"), ContainsSubstring("\"my_slot\""));
  CHECK_THAT(slot_name_problem(""), ContainsSubstring("\"walrelay\""));
  CHECK_THAT(slot_name_problem("--"), ContainsSubstring("\"walrelay\""));
  CHECK_THAT(slot_name_problem(std::string(64, 'a')), ContainsSubstring("\"" + std::string(63, 'a') + "\""));
}

TEST_CASE("any publication name that PostgreSQL can hold is accepted") {
  for (const auto* text : {"walrelay", "Outbox_Pub", "Пуб \"\"x\"\"", "pub-1", "a,b", "select"}) {
    CAPTURE(text);
    CHECK(publication_problem(text).empty());
  }
  CHECK(publication_problem(std::string(63, 'p')).empty());
  CHECK_FALSE(publication_problem(std::string(64, 'p')).empty());
  CHECK_FALSE(publication_problem("").empty());
}

TEST_CASE("a table needs its schema") {
  CHECK(table_problem("public.outbox").empty());
  CHECK(table_problem("public.Outbox.Messages").empty());
  CHECK_THAT(table_problem("outbox"), ContainsSubstring("\"public.outbox\""));
  for (const auto* text : {"", ".", ".outbox", "public."}) CHECK_FALSE(table_problem(text).empty());
  CHECK_THAT(table_problem("public.\"OutboxMessages\""), ContainsSubstring("write public.OutboxMessages"));
  CHECK(table_problem("public.box \"x\"").empty());
}

TEST_CASE("topic names are those that Kafka takes") {
  CHECK(topic_problem("outbox.dead-letter").empty());
  CHECK(topic_problem(std::string(249, 't')).empty());
  CHECK(topic_problem("").empty());
  CHECK_FALSE(topic_problem(std::string(250, 't')).empty());
  for (const auto* text : {".", "..", "a b", "a/b", "ä"}) CHECK_FALSE(topic_problem(text).empty());
}

}  // namespace walrelay::test
