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

TEST_CASE("every exit status is documented") {
  const std::string reference = config_reference();
  for (const auto* status : {"| 0 |", "| 1 |", "| 2 |", "| 3 |", "| 4 |", "| 5 |", "| 130 |", "| 143 |"}) {
    CHECK_THAT(reference, ContainsSubstring(status));
  }
}

}  // namespace walrelay::test
