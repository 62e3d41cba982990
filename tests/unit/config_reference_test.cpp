#include "connector/config/config_reference.h"

#include "connector/config/options.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {

TEST_CASE("docs/configuration.md is what the options table says: write it anew with `walrelay config --reference`") {
  const bool fresh = read_file(WALRELAY_SOURCE_DIR "/docs/configuration.md") == config_reference();
  CHECK(fresh);
}

TEST_CASE("every option has a place in a section, a summary, and stands in the reference") {
  const std::string reference = config_reference();
  for (const Option& option : options()) {
    CAPTURE(std::string(option.key));
    CHECK_FALSE(option.summary.empty());
    CHECK_FALSE(option.summary.ends_with('.'));
    CHECK_THAT(reference, ContainsSubstring(std::string(option.summary)));
    if (!option.flag.empty()) CHECK_THAT(reference, ContainsSubstring("`" + std::string(option.flag) + "`"));
  }
}

TEST_CASE("every exit status is documented, and those that no signal gives in the same words in the README") {
  const std::string reference = config_reference();
  const std::string readme = read_file(WALRELAY_SOURCE_DIR "/README.md");
  REQUIRE(exit_meanings().size() == 8);
  for (const auto& [code, meaning] : exit_meanings()) {
    const auto row = "| " + std::to_string(static_cast<int>(code)) + " | " + std::string(meaning) + " |";
    CHECK_THAT(reference, ContainsSubstring(row));
    if (code < ExitCode::interrupted) CHECK_THAT(readme, ContainsSubstring(row));
  }
}

}  // namespace walrelay::test
