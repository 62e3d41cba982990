// Completions and the manual page name everything that the command line takes.

#include "connector/commands/man_page.h"
#include "connector/commands/shell_completion.h"
#include "connector/config/options.h"
#include "decoder/presets.h"
#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

std::string completion(std::string_view shell) { return shell_completion(shell, command_helps()); }

// As fish writes it: without dashes.
std::string bare(const std::string& flag) { return flag.substr(flag.find_first_not_of('-')); }

}  // namespace

TEST_CASE("every command and flag is in the completion of every shell") {
  for (const auto& command : command_helps()) {
    auto flags = command.own;
    flags.insert(flags.end(), command.common.begin(), command.common.end());
    for (const auto shell : completion_shells()) {
      const auto script = completion(shell);
      CAPTURE(std::string(shell), command.name);
      CHECK_THAT(script, ContainsSubstring(command.name));
      for (const auto& flag : flags) {
        for (const auto& name : flag.names) {
          CHECK_THAT(script, ContainsSubstring(shell == "fish" ? " " + bare(name) + " " : name));
        }
      }
    }
  }
}

TEST_CASE("every setting, and each value of those that have a choice, is completed") {
  for (const auto shell : completion_shells()) {
    const auto script = completion(shell);
    CAPTURE(std::string(shell));
    for (const Option& option : options()) {
      const auto key = std::string(option.key);
      const auto star = key.find('*');
      CHECK_THAT(script,
                 ContainsSubstring(star == std::string::npos ? key : key.substr(0, star) + "0" + key.substr(star + 1)));
      if (const auto* choice = std::get_if<ChoiceField>(&option.field)) {
        for (const auto name : choice->names) CHECK_THAT(script, ContainsSubstring(std::string(name)));
      }
    }
    for (const Preset& preset : presets()) CHECK_THAT(script, ContainsSubstring(std::string(preset.name)));
  }
}

TEST_CASE("the manual page has every command, flag, setting and exit status") {
  const auto commands = command_helps();
  std::string page = man_page(commands);
  for (auto at = page.find("\\-"); at != std::string::npos; at = page.find("\\-")) page.erase(at, 1);
  for (const auto& command : commands) {
    CHECK_THAT(page, ContainsSubstring("\n.SS " + command.name + "\n"));
    for (const auto& flag : command.own) CHECK_THAT(page, ContainsSubstring(flag.names.back()));
  }
  for (const auto& flag : commands.front().common) CHECK_THAT(page, ContainsSubstring(flag.names.back()));
  for (const Option& option : options()) CHECK_THAT(page, ContainsSubstring("\\fB" + std::string(option.key) + "\\fR"));
  for (const auto* status : {"0", "1", "2", "3", "4", "5", "130", "143"}) {
    CHECK_THAT(page, ContainsSubstring("\\fB" + std::string(status) + "\\fR\n"));
  }
}

TEST_CASE("completion asks for a shell, and for one that it knows") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"completion"}, {"completion", "tcsh"}}) {
    CHECK_THROWS_AS(parse_command_line(arguments), ConfigError);
  }
  CHECK(std::get<Answer>(parse_command_line({"completion", "bash"}).command).text == completion("bash"));
}

}  // namespace walrelay::test
