// Configurations inside of what is deployed: the compose file's, the Helm chart's, the Debian package's.

#include <regex>
#include <sstream>

#include "connector/config/load_config.h"
#include "connector/config/options.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {
namespace {

std::string deployed(const std::string& name) {
  auto text = read_file(WALRELAY_SOURCE_DIR "/deploy/" + name);
  REQUIRE_FALSE(text.empty());
  return text;
}

// The text of a block ("config: |") at the top of a YAML file.
std::string yaml_block(const std::string& yaml, const std::string& key) {
  std::istringstream lines(yaml);
  std::string block;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (inside && !line.empty() && line[0] != ' ') break;
    if (inside) block += (line.empty() ? line : line.substr(2)) + "\n";
    if (line == key + ": |") inside = true;
  }
  return block;
}

// With a secret where the text expects one.
Config load(const std::string& text, Mapping mapping = Mapping::required) {
  const TempDir directory;
  write_file(directory.file("db-password"), "secret\n");
  const auto here =
      std::regex_replace(text, std::regex(R"(/run/secrets/(walrelay/)?)"), directory.path().string() + "/");
  write_file(directory.file("walrelay.toml"), here);
  return load_config({directory.file("walrelay.toml"), {}, mapping});
}

}  // namespace

TEST_CASE("the configurations of compose file and Helm chart are enough for a relay to run") {
  for (const auto& text :
       {deployed("compose/walrelay.toml"), yaml_block(deployed("helm/walrelay/values.yaml"), "config")}) {
    CAPTURE(text);
    Config config;
    REQUIRE_NOTHROW(config = load(text));
    CHECK_NOTHROW(require_outbox(config, "run"));
    CHECK_NOTHROW(require_sink(config, "run"));
    CHECK_THAT(config.postgres.dsn, ContainsSubstring("secret"));
  }
}

TEST_CASE("the package's configuration, with its comments taken away, is enough for a relay to run") {
  const auto text = deployed("debian/walrelay.toml");
  CHECK_NOTHROW(load(text, Mapping::optional));
  const auto filled = std::regex_replace(text, std::regex(R"(\n# ("bootstrap|dsn|table|preset|\[\[))"), "\n$1");
  const Config config = load(filled);
  CHECK_NOTHROW(require_outbox(config, "run"));
  CHECK_NOTHROW(require_sink(config, "run"));
}

TEST_CASE("the chart is of this release") {
  CHECK_THAT(deployed("helm/walrelay/Chart.yaml"), ContainsSubstring("appVersion: \"" WALRELAY_VERSION "\""));
}

TEST_CASE("every setting that a deployment gives by --set is one") {
  for (const auto* file : {"helm/walrelay/templates/deployment.yaml", "compose/compose.yml"}) {
    const auto text = deployed(file);
    const std::regex given(R"re("--set", "([a-z_.]+)=)re");
    for (auto found = std::sregex_iterator(text.begin(), text.end(), given); found != std::sregex_iterator(); ++found) {
      CAPTURE(file, (*found)[1].str());
      CHECK(find_option((*found)[1].str()).option != nullptr);
    }
  }
}

}  // namespace walrelay::test
