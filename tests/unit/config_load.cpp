// File and flags together, and what each command cannot do without.

#include "connector/config/load_config.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {
namespace {

std::string refusal(const ConfigRequest& request) {
  try {
    static_cast<void>(load_config(request));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

template <typename Check>
std::string missing(const Check& check, const Config& config) {
  try {
    check(config, "run");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("flags win over the file, later flags over earlier ones") {
  const TempDir dir;
  write_file(dir.path() / "relay.toml", "[postgres]\nslot = 'from_file'\npublication = 'from_file'\n");
  const Config config = load_config({dir.file("relay.toml"),
                                     {{"postgres.slot", "from_flag", "--slot"}, {"postgres.slot", "from_set", "--set"}},
                                     Mapping::required});
  CHECK(config.postgres.slot == "from_set");
  CHECK(config.postgres.publication == "from_file");
}

TEST_CASE("the flags --table and --preset make an outbox without a file") {
  const Config config =
      load_config({"",
                   {{"outbox.0.table", "public.outbox", "--table"}, {"outbox.0.preset", "debezium", "--preset"}},
                   Mapping::required});
  REQUIRE(config.outboxes.size() == 1);
  CHECK(config.outboxes[0].topic == "outbox.event.{aggregatetype}");
}

TEST_CASE("the flag --table does not narrow down a file's outboxes: the others would be confirmed unpublished") {
  const TempDir dir;
  write_file(dir.path() / "relay.toml", "[[outbox]]\ntable='a.b'\npreset='debezium'\n");
  for (const auto* flag : {"--table", "--preset"}) {
    const std::string line = refusal({dir.file("relay.toml"), {{"outbox.0.table", "a.b", flag}}, Mapping::required});
    CHECK_THAT(line, ContainsSubstring(flag));
    CHECK_THAT(line, ContainsSubstring("has an [[outbox]] already"));
  }
  CHECK(refusal({dir.file("relay.toml"), {{"outbox.0.table", "a.c", "--set"}}, Mapping::required}) == "accepted");
}

TEST_CASE("a file is read only if it is asked for") {
  CHECK(refusal({"", {}, Mapping::required}) == "accepted");
  CHECK_THAT(refusal({"/nonexistent/relay.toml", {}, Mapping::required}), ContainsSubstring("/nonexistent/relay.toml"));
}

TEST_CASE("a missing outbox, broker or path is named with the flag that gives it") {
  Config config;
  CHECK_THAT(missing(require_outbox, config), ContainsSubstring("--table"));
  CHECK_THAT(missing(require_sink, config), ContainsSubstring("--brokers"));
  config.sink.kafka = {{"bootstrap.servers", "b:9092"}};
  CHECK(missing(require_sink, config) == "nothing");
  config.sink.type = SinkType::file;
  CHECK_THAT(missing(require_sink, config), ContainsSubstring("--set sink.file.path="));
  config.sink.type = SinkType::stdout_lines;
  CHECK(missing(require_sink, config) == "nothing");
  config.outboxes.emplace_back();
  CHECK(missing(require_outbox, config) == "nothing");
}

}  // namespace walrelay::test
