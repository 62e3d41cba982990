// --help and --version: what a newcomer sees first.

#include "connector/commands/command_line.h"
#include "connector/config/options.h"
#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

std::string answer(const std::vector<std::string>& arguments) {
  return std::get<Answer>(parse_command_line(arguments).command).text;
}

}  // namespace

TEST_CASE("the flag --help names every command and the first steps") {
  const std::string help = answer({"--help"});
  for (const auto* word :
       {"init", "check", "run", "status", "tail", "replay", "recover", "drop", "config", "completion", "First steps"}) {
    CHECK_THAT(help, ContainsSubstring(word));
  }
  CHECK(help == answer({"-h"}));
}

TEST_CASE("each command's --help shows its own flags and the common ones") {
  for (const auto* command : {"init", "check", "run", "status", "tail", "replay", "recover", "drop", "config"}) {
    const std::string help = answer({command, "--help"});
    for (const Option& option : options()) CHECK_THAT(help, ContainsSubstring(std::string(option.flag)));
    for (const auto* flag : {"--config FILE", "--brokers", "-X PROPERTY=VALUE", "--set KEY=VALUE"}) {
      CHECK_THAT(help, ContainsSubstring(flag));
    }
  }
  for (const auto* command :
       {"init", "check", "run", "status", "tail", "replay", "recover", "drop", "config", "completion"}) {
    CHECK_THAT(answer({command, "--help"}), ContainsSubstring("Examples:\n  ") && ContainsSubstring(command));
  }
  CHECK_THAT(answer({"run", "--help"}), ContainsSubstring("--drain"));
  CHECK_THAT(answer({"drop", "--help"}), ContainsSubstring("--yes"));
}

TEST_CASE("no line of the help is wider than a terminal of 120 columns") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"run", "--help"}, {"init", "--help"}}) {
    std::string help = answer(arguments);
    while (!help.empty()) {
      const std::string line = help.substr(0, help.find('\n'));
      CAPTURE(line);
      CHECK(line.size() <= 120);
      help.erase(0, line.size() + 1);
    }
  }
}

TEST_CASE("the flag --version tells the release and the client libraries") {
  CHECK_THAT(answer({"--version"}), ContainsSubstring("walrelay " WALRELAY_VERSION " (libpq "));
  CHECK_THAT(answer({"--version"}), ContainsSubstring("librdkafka "));
}

}  // namespace walrelay::test
