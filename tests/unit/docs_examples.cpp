// The TOML in README.md and docs/*.md: what a reader copies has to work.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "connector/config/load_config.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {
namespace {

struct Block {
  std::string page;
  int line = 0;
  std::string text;
};

void append_blocks(const std::string& page, std::vector<Block>& blocks) {
  std::istringstream lines(read_file(page));
  std::string line;
  bool inside = false;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line == "```toml") {
      inside = true;
      blocks.push_back({page, number, ""});
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
}

const std::string kReadme = WALRELAY_SOURCE_DIR "/README.md";

std::vector<Block> blocks_of_docs() {
  std::vector<Block> blocks;
  append_blocks(kReadme, blocks);
  for (const auto& entry : std::filesystem::directory_iterator(WALRELAY_SOURCE_DIR "/docs")) {
    if (entry.path().extension() == ".md") append_blocks(entry.path().string(), blocks);
  }
  return blocks;
}

Config load(const Block& block) {
  ::setenv("KAFKA_PASSWORD", "kafka secret", 1);
  const TempDir directory;
  write_file(directory.file("walrelay.toml"), block.text);
  return load_config({directory.file("walrelay.toml"), {}, Mapping::required});
}

}  // namespace

TEST_CASE("every TOML example in the documentation is a configuration") {
  const auto blocks = blocks_of_docs();
  CHECK(blocks.size() >= 3);
  for (const Block& block : blocks) {
    CAPTURE(block.page, block.line);
    CHECK_NOTHROW(load(block));
  }
}

TEST_CASE("the configuration in the README is enough for a relay to run, and has 20 lines") {
  std::vector<Block> blocks;
  append_blocks(kReadme, blocks);
  REQUIRE(blocks.size() == 1);
  CHECK(std::count(blocks[0].text.begin(), blocks[0].text.end(), '\n') == 20);
  const Config config = load(blocks[0]);
  CHECK_NOTHROW(require_outbox(config, "run"));
  CHECK_NOTHROW(require_sink(config, "run"));
  CHECK_FALSE(config.postgres.dsn.empty());
}

}  // namespace walrelay::test
