// [[outbox]]: what makes one whole, and what makes two of them one too many.

#include "decoder/presets.h"
#include "tests/support/catch.h"
#include "tests/support/config_text.h"

namespace walrelay::test {

TEST_CASE("every preset makes a complete outbox of a table alone") {
  REQUIRE_FALSE(presets().empty());
  for (const Preset& preset : presets()) {
    CAPTURE(std::string(preset.name));
    const Config config = config_of("", {{"outbox.0.table", "public.outbox", "--table"},
                                         {"outbox.0.preset", std::string(preset.name), "--preset"}});
    REQUIRE(config.outboxes.size() == 1);
    CHECK(config.outboxes[0].topic == std::string(preset.topic));
    CHECK(config.outboxes[0].value == std::string(preset.value));
  }
}

TEST_CASE("what is configured wins over the preset") {
  const Config config = config_of(
      "[[outbox]]\ntable='a.b'\npreset='standard'\ntopic='orders'\nheaders={ type='{type|snake}', more='x' }\n");
  const auto& headers = config.outboxes[0].headers;
  CHECK(config.outboxes[0].topic == "orders");
  const auto has = [&](std::string_view name, std::string_view value) {
    return std::count(headers.begin(), headers.end(), std::pair<std::string, std::string>(name, value)) == 1;
  };
  CHECK(has("type", "{type|snake}"));
  CHECK(has("more", "x"));
  CHECK(has("traceparent", "{trace_parent}"));
}

TEST_CASE("a CloudEvent is made by its section or by --set, and is not whole without its source") {
  const std::string outbox = "[[outbox]]\ntable='a.b'\npreset='standard'\n";
  CHECK_FALSE(config_of(outbox).outboxes[0].cloudevents);
  CHECK(config_of(outbox, {{"outbox.0.cloudevents.source", "/shop", "--set"}}).outboxes[0].cloudevents->source ==
        "/shop");
  for (const auto* section : {"[outbox.cloudevents]\n", "[outbox.cloudevents]\nsubject='{id}'\n"}) {
    CAPTURE(section);
    CHECK_THAT(refusal_of(outbox + section), ContainsSubstring("a CloudEvent needs a source"));
  }
}

TEST_CASE("topic and value make an outbox without a preset") {
  const Config config = config_of("[[outbox]]\ntable='a.b'\ntopic='orders'\nvalue='{payload}'\n");
  CHECK_FALSE(config.outboxes[0].key);
  CHECK_FALSE(config.outboxes[0].id);
  CHECK(config.outboxes[0].headers.empty());
}

TEST_CASE("an unknown preset is refused with the nearest one") {
  const std::string line = refusal_of("[[outbox]]\ntable='a.b'\npreset='debezum'\n");
  CHECK_THAT(line, ContainsSubstring("relay.toml:2:7: [[outbox]] a.b"));
  CHECK_THAT(line, ContainsSubstring("debezium"));
}

TEST_CASE("a template that does not compile is refused with its outbox") {
  for (const auto* topic : {"{", "{type", "}", "{}", "{type|upcase}"}) {
    CAPTURE(topic);
    const std::string line =
        refusal_of("[[outbox]]\ntable='a.b'\npreset='debezium'\ntopic='" + std::string(topic) + "'\n");
    CHECK_THAT(line, ContainsSubstring("relay.toml:2:7: [[outbox]] a.b"));
    CHECK_THAT(line, ContainsSubstring("topic"));
    CHECK(line.find('\n') == std::string::npos);
  }
}

TEST_CASE("a table without a mapping is enough for commands that map nothing") {
  const std::string toml = "[[outbox]]\ntable='a.b'\n";
  CHECK(refusal_of(toml, {}, Mapping::optional) == "accepted");
  CHECK_THAT(refusal_of(toml), ContainsSubstring("give a preset (--preset) or topic and value"));
  CHECK_THAT(refusal_of(toml + "topic='x'\n", {}, Mapping::optional), ContainsSubstring("value"));
}

TEST_CASE("an outbox has a table or a prefix of messages, not both and not neither") {
  CHECK_THAT(refusal_of("[[outbox]]\n"), ContainsSubstring("neither table nor messages"));
  CHECK_THAT(refusal_of("[[outbox]]\npreset='debezium'\n"), ContainsSubstring("neither table nor messages"));
  CHECK_THAT(refusal_of("[[outbox]]\ntable='a.b'\nmessages='m'\n"), ContainsSubstring("both table and messages"));
}

TEST_CASE("two outboxes for one table or one prefix are refused, naming both places") {
  const std::string table = "[[outbox]]\ntable='a.b'\npreset='debezium'\n";
  CHECK_THAT(refusal_of(table + table),
             ContainsSubstring("relay.toml:5:7: outbox.1: table \"a.b\" has an [[outbox]] already "
                               "(relay.toml:2:7)"));
  const std::string messages = "[[outbox]]\nmessages='m'\n";
  CHECK_THAT(refusal_of(messages + messages), ContainsSubstring("messages \"m\" has an [[outbox]] already"));
  CHECK(refusal_of(table + messages + "[[outbox]]\ntable='a.B'\npreset='debezium'\n") == "accepted");
}

TEST_CASE("retention belongs to the outbox above it") {
  const Config config = config_of(
      "[[outbox]]\ntable='a.b'\npreset='standard'\n[outbox.retention]\nkeep='7d'\nbatch=50\n"
      "[[outbox]]\ntable='a.c'\npreset='debezium'\n[outbox.retention]\nmax_rows=1000000\ninterval='5m'\n"
      "[[outbox]]\ntable='a.d'\npreset='debezium'\n");
  const auto& outboxes = config.outboxes;
  REQUIRE(outboxes.size() == 3);
  CHECK(outboxes[0].retention.keep == std::chrono::hours(168));
  CHECK(outboxes[0].retention.batch == 50);
  CHECK(outboxes[0].retention.interval == std::chrono::minutes(1));
  CHECK(outboxes[1].retention.max_rows == 1'000'000);
  CHECK(outboxes[1].retention.interval == std::chrono::minutes(5));
  CHECK_FALSE(outboxes[2].retention.wanted());
}

TEST_CASE("retention that would hurt, or says nothing, is refused with the reason") {
  const auto refusal = [](const std::string& lines, const std::string& outbox = "table='a.b'\npreset='standard'") {
    return refusal_of("[[outbox]]\n" + outbox + "\n[outbox.retention]\n" + lines + "\n");
  };
  CHECK(refusal("keep='7d'") == "accepted");
  CHECK_THAT(
      refusal("keep='7d'\ninterval='5ms'"),
      ContainsSubstring("outbox.0.retention.interval: \"5ms\" is out of range; it must be from 1s to 24h: each run"));
  CHECK_THAT(refusal("keep='7'"), ContainsSubstring("units"));
  CHECK_THAT(refusal("max_rows=0"), ContainsSubstring("outbox.0.retention.max_rows"));
  CHECK_THAT(refusal("batch=100"), ContainsSubstring("outbox.0.retention: what to delete is not said"));
  CHECK_THAT(refusal("max_rows=5", "messages='m'"), ContainsSubstring("messages leave no rows"));
  CHECK_THAT(refusal("keep='7d'", "table='a.b'\npreset='debezium'"), ContainsSubstring("timestamp = \"{COLUMN}\""));
  CHECK(refusal("keep='7d'", "table='a.b'\npreset='debezium'\ntimestamp='{at}'") == "accepted");
  CHECK_THAT(refusal("kep='7d'"), ContainsSubstring("did you mean outbox.0.retention.keep?"));
}

}  // namespace walrelay::test
