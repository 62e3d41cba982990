// deploy/examples: each file is a configuration that `walrelay run` would start with.

#include <cstdlib>
#include <filesystem>
#include <set>

#include "connector/config/load_config.h"
#include "decoder/presets.h"
#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

std::vector<std::string> example_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(WALRELAY_SOURCE_DIR "/deploy/examples")) {
    files.push_back(entry.path().string());
  }
  return files;
}

Config example(const std::string& file) {
  ::setenv("DB_PASSWORD", "db secret", 1);
  ::setenv("KAFKA_PASSWORD", "kafka secret", 1);
  return load_config({file, {}, Mapping::required});
}

}  // namespace

TEST_CASE("every example is enough for a relay to run") {
  REQUIRE_FALSE(example_files().empty());
  for (const std::string& file : example_files()) {
    CAPTURE(file);
    Config config;
    REQUIRE_NOTHROW(config = example(file));
    CHECK_NOTHROW(require_outbox(config, "run"));
    CHECK_NOTHROW(require_sink(config, "run"));
    CHECK_FALSE(config.postgres.dsn.empty());
  }
}

TEST_CASE("there is an example for each preset, for messages and for each sink with settings") {
  std::set<std::string> presets_shown;
  std::set<SinkType> sinks_shown;
  bool messages_shown = false;
  for (const std::string& file : example_files()) {
    const Config config = example(file);
    sinks_shown.insert(config.sink.type);
    for (const OutboxRules& rules : config.outboxes) {
      presets_shown.insert(rules.preset);
      messages_shown = messages_shown || !rules.messages.empty();
    }
  }
  for (const Preset& preset : presets()) CHECK(presets_shown.count(std::string(preset.name)) == 1);
  CHECK(messages_shown);
  CHECK(sinks_shown == std::set<SinkType>{SinkType::kafka, SinkType::file});
}

}  // namespace walrelay::test
