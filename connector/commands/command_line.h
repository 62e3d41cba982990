#pragma once
// What was asked for on the command line.

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "connector/commands/commands.h"
#include "connector/config/setting.h"

namespace walrelay {

struct ConfigFlags {
  bool reference = false;  // print docs/configuration.md
  bool man = false;        // print the manual page
};

// --help, --version and completion: what to print on stdout.
struct Answer {
  std::string text;
};

using Command = std::variant<Answer, InitFlags, CheckFlags, RunFlags, StatusFlags, TailFlags, ReplayFlags, RecoverFlags,
                             DropFlags, ConfigFlags>;

struct CommandLine {
  std::string name;  // "run"
  Command command;
  std::string config_file;        // -c; "" if not given
  std::vector<Setting> settings;  // in the order in which they win: flags, then -X, then --set
};

// `arguments` without the program's name. Throws ConfigError. No message repeats the value of an argument that may hold
// a secret.
[[nodiscard]] CommandLine parse_command_line(const std::vector<std::string>& arguments);

// What the command line takes, for what is made of it: completions, the manual page.
struct FlagHelp {
  std::vector<std::string> names;  // "-c", "--config"
  std::string value;               // "FILE"; "" if it takes none
  std::string summary;
};
struct CommandHelp {
  std::string name;
  std::string summary;
  std::vector<FlagHelp> own;
  std::vector<FlagHelp> common;  // --help, and what sets the configuration: the same for all commands that read one
};
[[nodiscard]] std::vector<CommandHelp> command_helps();

// Overwrites the values of arguments that may hold secrets, so that `ps` does not show them. To be called when the
// arguments have been parsed.
void hide_secrets(std::span<char*> arguments);

}  // namespace walrelay
