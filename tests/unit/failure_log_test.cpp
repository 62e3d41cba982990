// What cannot be delivered is logged, and no flood of it floods the log.

#include "connector/failure_log.h"

#include <cstdlib>

#include "connector/sink_factory.h"
#include "connector/told_reasons.h"
#include "tests/support/catch.h"
#include "tests/support/caught_log.h"
#include "tests/support/json_value.h"
#include "tests/support/relay_bench.h"

namespace walrelay::test {

using namespace std::chrono_literals;

namespace {

constexpr LogOptions kJson{LogFormat::json, LogLevel::info};

// How many events the lines tell of, named or counted.
long told(const std::vector<std::string>& lines, std::string_view event) {
  long count = 0;
  for (const auto& line : lines) {
    CHECK(json_value(line, "/event") == event);
    const auto more = json_value(line, "/more");
    count += more == "null" ? 1 : std::strtol(more.c_str(), nullptr, 10);
  }
  return count;
}

}  // namespace

TEST_CASE("a hundred thousand skipped events make some hundred lines, which account for every one") {
  CaughtLog log(kJson);
  {
    RelayBench bench(on_error(OnError::skip));
    bench.sink.reject_value = "bad";
    for (std::uint64_t i = 0; i < 100; ++i) {
      bench.transaction(1100 + 10 * i, std::vector<std::string>(1000, "bad"));
      while (bench.source->unread() > 0) bench.step();
      bench.step(1s);
    }
    CHECK(bench.metrics.events(0, EventResult::skipped).value() == 100'000);
  }
  const auto lines = log.read_lines();
  CHECK(lines.size() <= 120);
  CHECK(told(lines, "event_skipped") == 100'000);
  CHECK(json_value(lines.front(), "/message") == "id id-bad: rejected by the test");
}

TEST_CASE("events that are delivered are not logged") {
  CaughtLog log(kJson);
  RelayBench bench;
  for (std::uint64_t i = 0; i < 100; ++i) {
    bench.transaction(1100 + 10 * i, std::vector<std::string>(100, "good"));
    while (bench.source->unread() > 0) bench.step();
    bench.sink.ack_all();
    bench.step(1s);
  }
  CHECK(bench.metrics.events(0, EventResult::delivered).value() == 10'000);
  CHECK(log.read_lines().empty());
}

TEST_CASE("a few failures are named one by one, and what is held back is told once its while is over") {
  CaughtLog log(kJson);
  FailureLog failures;
  const Instant start{std::chrono::hours(1)};
  const auto fail = [&](FailureClass failure_class, Instant now) {
    failures.tell(EventFate::dead_letter, {failure_class, "refused"}, "public.outbox", Lsn{1}, now);
  };
  for (int i = 0; i < 15; ++i) fail(FailureClass::mapping, start);
  fail(FailureClass::too_large, start);  // not lost in the flood of another class
  CHECK(log.read_lines().size() == 11);
  failures.tell_rest(start + 9s);
  CHECK(log.read_lines().empty());
  failures.tell_rest(start + 10s);
  auto lines = log.read_lines();
  REQUIRE(lines.size() == 1);
  CHECK(json_value(lines[0], "/event") == "dead_letter");
  CHECK(json_value(lines[0], "/class") == "mapping");
  CHECK(json_value(lines[0], "/more") == "5");
  fail(FailureClass::mapping, start + 11s);
  lines = log.read_lines();
  REQUIRE(lines.size() == 1);
  CHECK(json_value(lines[0], "/message") == "refused");
}

TEST_CASE("log level debug names every event that cannot be delivered") {
  CaughtLog log({LogFormat::json, LogLevel::debug});
  FailureLog failures;
  for (int i = 0; i < 100; ++i) {
    failures.tell(EventFate::skipped, {FailureClass::topic, "refused"}, "public.outbox", std::nullopt, Instant{1s});
  }
  CHECK(log.read_lines().size() == 100);
}

TEST_CASE("a trouble that lasts is told again only now and then, and at once after it was over") {
  ToldReasons told;
  const Instant start{std::chrono::hours(1)};
  int lines = 0;
  for (int second = 0; second < 3600; second += 10) {
    if (told.worth_telling("refused", start + std::chrono::seconds(second))) ++lines;
    if (told.worth_telling("no route", start + std::chrono::seconds(second))) ++lines;
  }
  CHECK(lines == 2 * 12);
  told.clear();
  CHECK(told.worth_telling("refused", start + 1h));
}

TEST_CASE("what a client library says of a broker again and again is logged once in a while") {
  CaughtLog log(kJson);
  const auto say = sink_log();
  for (int i = 0; i < 100; ++i) {
    say(SinkLogLevel::error, "broker-1: Connect failed (after 0ms in state CONNECT, " + std::to_string(i) + " more)");
    say(SinkLogLevel::error, "broker-2: Connect failed (after 0ms in state CONNECT)");
    say(SinkLogLevel::info, "metadata");
  }
  CHECK(log.read_lines().size() == 102);
}

}  // namespace walrelay::test
