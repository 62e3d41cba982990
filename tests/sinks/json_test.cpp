// JSON going out: the writer, the check of what is passed on as it is, and an event's line.

#include "sinks/base64.h"
#include "sinks/event_line.h"
#include "sinks/json_text.h"
#include "sinks/json_writer.h"
#include "sinks/utf8.h"
#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  JsonWriter(out).string(text);
  return out;
}

std::string line_of(const OutboxEvent& event) {
  std::string out;
  EventLineWriter().append(out, event);
  return out;
}

OutboxEvent sample_event(NullableBytes key, NullableBytes value) {
  OutboxEvent event;
  event.topic = "outbox.OrderPlaced";
  event.key = key;
  event.value = value;
  event.timestamp_ms = 1'700'000'000'123;
  event.commit_lsn = Lsn{0x16B3748};
  event.index = 2;
  return event;
}

constexpr std::string_view kLineEnd = R"(,"headers":{},"timestamp":1700000000123,"lsn":"0/16B3748","index":2})"
                                      "\n";

}  // namespace

TEST_CASE("the JSON writer puts commas and colons where they belong") {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("a").integer(-3).key("b").begin_array().number(0.1).boolean(true).null();
  json.begin_object()
      .end_object()
      .begin_array()
      .end_array()
      .end_array()
      .key("c")
      .raw("[1, 2]")
      .key("d")
      .string("")
      .end_object();
  CHECK(out == R"({"a":-3,"b":[0.1,true,null,{},[]],"c":[1, 2],"d":""})");
}

TEST_CASE("the JSON writer escapes what JSON forbids in a string") {
  CHECK(quoted("a\"b\\c/d") == R"("a\"b\\c/d")");
  CHECK(quoted(std::string_view("\0\x1f\n\r\t", 5)) == R"("\u0000\u001f\n\r\t")");
  CHECK(quoted("\x7fж😀") == "\"\x7fж😀\"");
}

TEST_CASE("a byte that is not UTF-8 becomes the replacement character") {
  CHECK(quoted("a\xff"
               "b") == "\"a\uFFFDb\"");
  CHECK(quoted("\xe2\x82") == "\"\uFFFD\uFFFD\"");
  CHECK(quoted("\xed\xa0\x80") == "\"\uFFFD\uFFFD\uFFFD\"");
}

TEST_CASE("numbers that JSON has not are null, others read back the same") {
  std::string out;
  JsonWriter json(out);
  json.begin_array().number(1.0 / 0.0).number(-1e300).integer(std::uint64_t{18'446'744'073'709'551'615U}).end_array();
  CHECK(out == "[null,-1e+300,18446744073709551615]");
}

TEST_CASE("only well-formed UTF-8 is taken for it") {
  for (const auto* good : {"", "a", "é", "\u0800", "\uD7FF", "\uE000", "\U00010000", "\U0010FFFF"})
    CHECK(is_valid_utf8(good));
  for (const auto* bad : {"\x80", "\xc0\xaf", "\xc1\x81", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "a\xffz"}) {
    CAPTURE(bad);
    CHECK_FALSE(is_valid_utf8(bad));
  }
}

TEST_CASE("base64 pads to groups of four") {
  CHECK(to_base64("").empty());
  CHECK(to_base64("f") == "Zg==");
  CHECK(to_base64("fo") == "Zm8=");
  CHECK(to_base64("foo") == "Zm9v");
  CHECK(to_base64("\xff\xfe\xfd") == "//79");
}

TEST_CASE("JSON is told from what only looks like it") {
  JsonChecker checker;
  for (const auto* good : {"{}", "[]", " [ 1 , -0.5e+3 ] ", R"({"a":{"b":[[],{}]},"a":null})", "\"\\u00e9\\n\"", "0",
                           "-1", "true", "null", "12345678901234567890123", "\t\n\r\"x\"", R"("\ud800")"}) {
    CAPTURE(good);
    CHECK(checker.is_json(good));
  }
  for (const auto* bad : {"",    " ",  "{",   "[1,]",  "{\"a\"}", "{\"a\":}",   "{a:1}",   "01",        "1.",
                          ".5",  "+1", "1e",  "nul",   "nullx",   "\"",         "\"\\x\"", "\"\\u12\"", "\"a\nb\"",
                          "[1}", "{]", "1 2", "[1 2]", "'a'",     "{\"a\":1,}", "]",       "{\"a\":1]"}) {
    CAPTURE(bad);
    CHECK_FALSE(checker.is_json(bad));
  }
}

TEST_CASE("JSON may be nested a million levels deep") {
  JsonChecker checker;
  const std::string open(1'000'000, '[');
  CHECK(checker.is_json(open + std::string(1'000'000, ']')));
  CHECK_FALSE(checker.is_json(open + std::string(999'999, ']')));
}

TEST_CASE("a line has the event's parts in a fixed order") {
  OutboxEvent event = sample_event("42", R"({"n":1.10})");
  const EventHeader headers[] = {{"id", "7"}, {"none", std::nullopt}, {"raw", "\xff"}};
  event.headers = headers;
  CHECK(
      line_of(event) ==
      R"({"topic":"outbox.OrderPlaced","key":"42","value":{"n":1.10},"headers":{"id":"7","none":null,"raw":{"base64":"/w=="}},)"
      R"("timestamp":1700000000123,"lsn":"0/16B3748","index":2})"
      "\n");
}

TEST_CASE("a value that is JSON stands in its line as it is, line breaks as spaces") {
  const auto* const start = R"({"topic":"outbox.OrderPlaced","key":null,"value":)";
  CHECK(line_of(sample_event(std::nullopt, "{\n  \"a\":\r\n 1}")) ==
        start + std::string("{   \"a\":   1}") + std::string(kLineEnd));
  CHECK(line_of(sample_event(std::nullopt, "12345678901234567890123")) ==
        start + std::string("12345678901234567890123") + std::string(kLineEnd));
}

TEST_CASE("a value that is not JSON is a string, or base64 if it is no text") {
  const auto* const start = R"({"topic":"outbox.OrderPlaced","key":"","value":)";
  CHECK(line_of(sample_event("", "two\nlines")) == start + std::string(R"("two\nlines")") + std::string(kLineEnd));
  CHECK(line_of(sample_event("", "")) == start + std::string(R"("")") + std::string(kLineEnd));
  CHECK(line_of(sample_event("", "\xff\xfe")) ==
        start + std::string(R"("//4=","encoding":"base64")") + std::string(kLineEnd));
}

TEST_CASE("a tombstone differs from JSON's null") {
  const auto* const start = R"({"topic":"outbox.OrderPlaced","key":"k","value":)";
  CHECK(line_of(sample_event("k", std::nullopt)) ==
        start + std::string(R"(null,"tombstone":true)") + std::string(kLineEnd));
  CHECK(line_of(sample_event("k", "null")) == start + std::string("null") + std::string(kLineEnd));
}

TEST_CASE("a key that is no text is base64") {
  CHECK(line_of(sample_event("\xff", "1")) ==
        R"({"topic":"outbox.OrderPlaced","key":"/w==","key_encoding":"base64","value":1)" + std::string(kLineEnd));
}

}  // namespace walrelay::test
