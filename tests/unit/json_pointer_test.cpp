#include "decoder/json_pointer.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

std::string find(std::string_view json, std::string_view pointer) {
  JsonReader reader;
  std::string out;
  const auto parsed = JsonPointer::parse(pointer);
  REQUIRE(parsed);
  switch (reader.find(json, *parsed, out)) {
    case JsonLookup::found:
      return out;
    case JsonLookup::null:
      return "(null)";
    case JsonLookup::invalid:
      return "(invalid)";
  }
  return "";
}

TEST_CASE("json pointer: the examples of RFC 6901") {
  constexpr std::string_view kJson =
      R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8})";
  CHECK(find(kJson, "/foo") == R"(["bar","baz"])");
  CHECK(find(kJson, "/foo/0") == "bar");
  CHECK(find(kJson, "/") == "0");
  CHECK(find(kJson, "/a~1b") == "1");
  CHECK(find(kJson, "/c%d") == "2");
  CHECK(find(kJson, "/i\\j") == "5");
  CHECK(find(kJson, "/k\"l") == "6");
  CHECK(find(kJson, "/ ") == "7");
  CHECK(find(kJson, "/m~0n") == "8");
}

TEST_CASE("json pointer: only / starts one and only ~0 and ~1 are escapes") {
  CHECK_FALSE(JsonPointer::parse(""));
  CHECK_FALSE(JsonPointer::parse("a"));
  CHECK_FALSE(JsonPointer::parse("/~"));
  CHECK_FALSE(JsonPointer::parse("/~2"));
  CHECK(JsonPointer::parse("/~01")->tokens[0].name == "~1");
}

TEST_CASE("json pointer: numbers stay as they are written (case A16)") {
  constexpr std::string_view kJson =
      R"({"n": 1234567890123456789, "b": 12345678901234567890123, "d": 1.10, "e": 0.1, "x": -1E+400})";
  CHECK(find(kJson, "/n") == "1234567890123456789");
  CHECK(find(kJson, "/b") == "12345678901234567890123");
  CHECK(find(kJson, "/d") == "1.10");
  CHECK(find(kJson, "/e") == "0.1");
  CHECK(find(kJson, "/x") == "-1E+400");
}

TEST_CASE("json pointer: strings lose quotes and escapes, other values stay JSON text") {
  constexpr std::string_view kJson =
      R"({"s":"a\"\\\/\n\u00fc\ud83d\ude00","t":true,"o":{"x" : [1, 2]},"a":[ ],"e":""})";
  CHECK(find(kJson, "/s") == "a\"\\/\nü😀");
  CHECK(find(kJson, "/t") == "true");
  CHECK(find(kJson, "/o") == R"({"x" : [1, 2]})");
  CHECK(find(kJson, "/o/x") == "[1, 2]");
  CHECK(find(kJson, "/a") == "[ ]");
  CHECK(find(kJson, "/e").empty());
}

TEST_CASE("json pointer: null and what is not there are NULL") {
  CHECK(find(R"({"a":null})", "/a") == "(null)");
  CHECK(find(R"({"a":null})", "/a/b") == "(null)");
  CHECK(find(R"({"a":1})", "/b") == "(null)");
  CHECK(find(R"({"a":1})", "/a/b") == "(null)");
  CHECK(find("[1,2]", "/2") == "(null)");
  CHECK(find("[1,2]", "/-") == "(null)");
  CHECK(find("[1,2]", "/01") == "(null)");
  CHECK(find("[1,2]", "/99999999999999999999999") == "(null)");
  CHECK(find("{}", "/a") == "(null)");
  CHECK(find("[]", "/0") == "(null)");
  CHECK(find("\"text\"", "/a") == "(null)");
  CHECK(find("null", "/a") == "(null)");
  CHECK(find(" 12 ", "/a") == "(null)");
}

TEST_CASE("json pointer: arrays are indexed from 0") {
  CHECK(find(R"([[],[1,{"x":"y"}]])", "/1/1/x") == "y");
  CHECK(find(R"([10,20,30])", "/2") == "30");
  CHECK(find(R"({"0":"key"})", "/0") == "key");
}

TEST_CASE("json pointer: of duplicate keys the last one counts") {
  CHECK(find(R"({"a":1,"b":2,"a":3})", "/a") == "3");
  CHECK(find(R"({"a":{"x":1},"a":{}})", "/a/x") == "(null)");
  CHECK(find(R"({"a":"long text","a":null})", "/a") == "(null)");
  CHECK(find(R"({"a":1,"\u0061":"escaped"})", "/a") == "escaped");
}

TEST_CASE("json pointer: odd keys are found (case A17)") {
  CHECK(find(R"({"a.b":1,"":2,"😀":3,"ключ":4})", "/a.b") == "1");
  CHECK(find(R"({"a.b":1,"":2,"😀":3,"ключ":4})", "/😀") == "3");
  CHECK(find(R"({"a.b":1,"":2,"😀":3,"ключ":4})", "/ключ") == "4");
}

TEST_CASE("json pointer: depth is no limit") {
  std::string json;
  std::string pointer;
  for (int i = 0; i < 500; ++i) json += "{\"a\":", pointer += "/a";
  json += "\"bottom\"" + std::string(500, '}');
  CHECK(find(json, pointer) == "bottom");
  CHECK(find(R"({"deep":)" + std::string(5000, '[') + std::string(5000, ']') + R"(,"x":1})", "/x") == "1");
}

TEST_CASE("json pointer: what is not JSON is invalid") {
  for (const std::string_view json :
       {"",           " ",           "hello",           "nothing",          "{",
        "}",          "[1",          "{\"a\":1}}",      "{\"a\":1}x",       "{\"a\":1 \"b\":2}",
        "{a:1}",      "{\"a\":tru}", "{\"a\":1x}",      "{\"a\":-}",        "{\"a\":1.}",
        "{\"a\":1e}", "{\"a\":\"x}", "{\"a\":\"\\q\"}", "{\"a\":\"\xff\"}", "1 2",
        "'a'"}) {
    CAPTURE(json);
    CHECK(find(json, "/a") == "(invalid)");
  }
}

TEST_CASE("json pointer: half a surrogate pair is invalid only where it is asked for") {
  CHECK(find(R"({"a":"\ud800","b":1})", "/a") == "(invalid)");
  CHECK(find(R"({"a":"\ud800","b":1})", "/b") == "1");
  CHECK(find(R"({"\ud800":2,"b":1})", "/b") == "1");
}

TEST_CASE("json reader: a row at the address of the last one is read anew") {
  JsonReader reader;
  const auto pointer = *JsonPointer::parse("/a");
  std::string json = R"({"a":1})";
  std::string out;
  REQUIRE(reader.find(json, pointer, out) == JsonLookup::found);
  json[5] = '2';
  reader.forget();
  REQUIRE(reader.find(json, pointer, out) == JsonLookup::found);
  CHECK(out == "12");
}

TEST_CASE("json reader: an error does not spoil the next text, and a huge text may follow a small one") {
  JsonReader reader;
  const auto pointer = *JsonPointer::parse("/a");
  std::string out;
  CHECK(reader.find("{\"a\":[1,", pointer, out) == JsonLookup::invalid);
  CHECK(out.empty());
  const std::string huge = R"({"x":")" + std::string(6'000'000, 'y') + R"(","a":"end"})";
  CHECK(reader.find(huge, pointer, out) == JsonLookup::found);
  CHECK(reader.find(R"({"a":"small"})", pointer, out) == JsonLookup::found);
  CHECK(reader.find(huge, pointer, out) == JsonLookup::found);
  CHECK(out == "endsmallend");
}

TEST_CASE("json reader: members come in order with raw and plain text") {
  JsonReader reader;
  std::vector<JsonMember> members;
  REQUIRE(reader.members(R"( {"a" : "x\ny" , "b":{"c":1.10} ,"a": null, "n":-1 } )", members));
  REQUIRE(members.size() == 4);
  CHECK(members[0].name == "a");
  CHECK(members[0].raw == R"("x\ny")");
  CHECK(members[0].text == "x\ny");
  CHECK(members[1].raw == R"({"c":1.10})");
  CHECK(members[2].kind == JsonKind::null);
  CHECK(members[3].text == "-1");
  for (const std::string_view json :
       {"", "[]", "1", "null", "{\"a\":1", "{\"a\":1}2", "{\"a\":x}", "{\"a\":\"\\ud800\"}"}) {
    CAPTURE(json);
    CHECK_FALSE(reader.members(json, members));
  }
  CHECK(reader.members("{}", members));
  CHECK(members.empty());
}

}  // namespace
}  // namespace walrelay::test
