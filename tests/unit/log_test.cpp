#include "connector/observe/log.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "connector/observe/time_text.h"
#include "tests/support/catch.h"
#include "tests/support/caught_log.h"
#include "tests/support/json_value.h"

namespace walrelay::test {
namespace {

constexpr PgTime kTime = 123'456'789;  // 2000-01-01 00:02:03.456789

std::string line(LogFormat format, std::string_view message, LogFields fields = {}) {
  std::string out;
  append_log_line(out, format, {kTime, LogLevel::warning, "some_event", message, fields});
  return out;
}

}  // namespace

TEST_CASE("a text line has time, level, event, message and fields") {
  CHECK(line(LogFormat::text, "all is well",
             {{"slot", "orders"}, {"lsn", Lsn{0x1'00000002}}, {"count", 7}, {"tls", false}, {"age", 0.5}}) ==
        "2000-01-01T00:02:03.456Z warning some_event: all is well slot=orders lsn=1/2 count=7 tls=false age=0.5\n");
}

TEST_CASE("a text field with blanks, quotes or nothing in it is quoted") {
  CHECK(line(LogFormat::text, "m", {{"a", "x y"}, {"b", "q\"q\\"}, {"c", ""}}) ==
        "2000-01-01T00:02:03.456Z warning some_event: m a=\"x y\" b=\"q\\\"q\\\\\" c=\"\"\n");
}

TEST_CASE("no content breaks a text line or drives a terminal") {
  const auto text = line(LogFormat::text, "a\nb\r\x1b[31m\x7f", {{"f", "x\ny\xC2\x9B\xFF"}, {"utf8", "ü€"}});
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK_THAT(text, ContainsSubstring("a\\nb\\x0d\\x1b[31m\\x7f"));
  CHECK_THAT(text, ContainsSubstring("f=\"x\\ny\\xc2\\x9b\\xff\""));
  CHECK_THAT(text, ContainsSubstring("utf8=ü€"));
}

TEST_CASE("a JSON line parses and gives every value back") {
  const auto text = line(LogFormat::json, "broken \"by\"\na line \x01",
                         {{"lsn", Lsn{255}}, {"negative", -5}, {"big", UINT64_MAX}, {"yes", true}, {"half", 0.5}});
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(json_value(text, "/time") == "2000-01-01T00:02:03.456Z");
  CHECK(json_value(text, "/level") == "warning");
  CHECK(json_value(text, "/event") == "some_event");
  CHECK(json_value(text, "/message") == "broken \"by\"\na line \x01");
  CHECK(json_value(text, "/lsn") == "0/FF");
  CHECK(json_value(text, "/negative") == "-5");
  CHECK(json_value(text, "/big") == "18446744073709551615");
  CHECK(json_value(text, "/yes") == "true");
  CHECK(json_value(text, "/half") == "0.5");
}

TEST_CASE("a JSON line parses even if a field is not UTF-8") {
  CHECK(json_value(line(LogFormat::json, "m", {{"bytes", "a\xFF"}}), "/bytes") == "a\xEF\xBF\xBD");
}

TEST_CASE("an overlong text is cut between characters") {
  const std::string overlong = std::string(kLogTextBytesMax - 1, 'a') + "üb";
  for (const auto format : {LogFormat::text, LogFormat::json}) {
    const auto text = line(format, "m", {{"f", overlong}});
    CHECK_THAT(text, ContainsSubstring("aaa..."));
    CHECK_THAT(text, !ContainsSubstring("\xC3"));
    CHECK(text.size() < kLogTextBytesMax + 200);
  }
}

TEST_CASE("a line below the level is not written") {
  CaughtLog caught({.format = LogFormat::json, .level = LogLevel::warning});
  log_info("too_low", "not seen");
  log_warning("just_right", "seen");
  CHECK(json_value(caught.read_some(), "/event") == "just_right");
  CHECK_FALSE(log_enabled(LogLevel::info));
  CHECK(log_enabled(LogLevel::error));
}

TEST_CASE("lines of many threads do not mix") {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kLines = 50;
  CaughtLog caught({.format = LogFormat::json, .level = LogLevel::info});
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      for (std::size_t i = 0; i < kLines; ++i) log_error("mixed", std::string(150, 'x'));
    });
  }
  for (auto& thread : threads) thread.join();
  const auto all = caught.read_some();
  std::size_t lines = 0;
  for (std::size_t at = 0; at < all.size(); at = all.find('\n', at) + 1, ++lines) {
    CHECK(json_value(all.substr(at, all.find('\n', at) - at), "/message") == std::string(150, 'x'));
  }
  CHECK(lines == kThreads * kLines);
}

TEST_CASE("times before 2000 are printed right") {
  CHECK(iso_time(-1) == "1999-12-31T23:59:59.999Z");
  CHECK(iso_time(0) == "2000-01-01T00:00:00.000Z");
}

}  // namespace walrelay::test
