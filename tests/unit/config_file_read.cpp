// TOML into settings: keys, order, places, and what is not TOML.

#include <fstream>

#include "connector/config/config_file.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {
namespace {

std::vector<std::string> keys_of(std::string_view toml) {
  std::vector<std::string> keys;
  for (const Setting& setting : parse_config_text(toml, "relay.toml")) keys.push_back(setting.key);
  return keys;
}

std::string refusal(std::string_view toml) {
  try {
    static_cast<void>(parse_config_text(toml, "relay.toml"));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("keys are dotted, outboxes numbered, values typed") {
  const auto settings = parse_config_text(
      "[delivery]\nmax_in_flight = 10\n[[outbox]]\ntable = 'a.b'\n[[outbox]]\ntable = 'c.d'\n[sink.kafka]\n"
      "'enable.ssl' = true\n'x' = 0.5\n",
      "relay.toml");
  REQUIRE(settings.size() == 5);
  CHECK(settings[0].key == "delivery.max_in_flight");
  CHECK(settings[0].value == SettingValue(std::int64_t{10}));
  CHECK(settings[0].origin == "relay.toml:2:17");
  CHECK(settings[1].key == "outbox.0.table");
  CHECK(settings[2].key == "outbox.1.table");
  CHECK(settings[2].value == SettingValue("c.d"));
  CHECK(settings[3].value == SettingValue(true));
  CHECK(settings[4].value == SettingValue(0.5));
}

TEST_CASE("headers and properties keep the order of the file") {
  CHECK(keys_of("[[outbox]]\nheaders = { zebra = '1', apple = '2', mango = '3' }\n") ==
        std::vector<std::string>{"outbox.0.headers.zebra", "outbox.0.headers.apple", "outbox.0.headers.mango"});
}

TEST_CASE("a librdkafka property reads the same with and without quotes") {
  CHECK(keys_of("[sink.kafka]\n'bootstrap.servers' = 'b'\n") == keys_of("[sink.kafka]\nbootstrap.servers = 'b'\n"));
}

TEST_CASE("an empty file has no settings") {
  CHECK(keys_of("").empty());
  CHECK(keys_of("# nothing\n").empty());
}

TEST_CASE("what is not TOML is refused with line and column") {
  CHECK_THAT(refusal("[postgres]\nslot = \n"), ContainsSubstring("relay.toml:2:"));
  CHECK_THAT(refusal("[postgres\n"), ContainsSubstring("relay.toml:1:"));
  CHECK_THAT(refusal("a = 1\na = 2\n"), ContainsSubstring("relay.toml:2:"));
  CHECK_THAT(refusal("a = '\xff'\n"), ContainsSubstring("relay.toml:1:"));
}

TEST_CASE("text without quotes is told to need them") {
  for (const auto* value :
       {"standard", "10s", "127.0.0.1:9464", "true1", "info", "/tmp/x", ":9464", "[a]", "{ a = b }"}) {
    CAPTURE(value);
    CHECK_THAT(refusal(std::string("key = ") + value + "\n"), ContainsSubstring("text needs quotes: key = \"text\""));
  }
  for (const auto* toml : {"key = 'a' b\n", "[postgres\n", "a = 1\na = 2\n", "key = \n", "key = \"info\n"}) {
    CAPTURE(toml);
    CHECK(refusal(toml).find("quotes") == std::string::npos);
  }
}

TEST_CASE("a syntax error does not repeat what may be a password") {
  for (const auto* toml : {"dsn = host=db password=hunter2\n", "dsn = \"host=db password=hunter2\n", "dsn = hunter2\n",
                           "dsn = 'a' hunter2\n", "dsn = \"\\hunter2\"\n", "dsn = [hunter2]\n", "dsn = 1hunter2\n"}) {
    CAPTURE(toml);
    CHECK(refusal(toml) != "accepted");
    CHECK(refusal(toml).find("hunter2") == std::string::npos);
    CHECK(refusal(toml).find('\n') == std::string::npos);
  }
}

TEST_CASE("a file that cannot be read is named with the reason") {
  const TempDir dir;
  try {
    static_cast<void>(read_config_file((dir.path() / "absent.toml").string()));
    FAIL("accepted");
  } catch (const ConfigError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("absent.toml: cannot be read: No such file"));
  }
  CHECK_THROWS_AS(read_config_file(dir.path().string()), ConfigError);
}

TEST_CASE("a file is read as it is") {
  const TempDir dir;
  const auto path = dir.path() / "relay.toml";
  std::ofstream(path) << "[postgres]\nslot = 'shop'\n";
  const auto settings = read_config_file(path.string());
  REQUIRE(settings.size() == 1);
  CHECK(settings[0].origin == path.string() + ":2:8");
}

}  // namespace walrelay::test
