#include "connector/commands/shell_completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <variant>

#include "connector/config/options.h"
#include "decoder/presets.h"

namespace walrelay {
namespace {

constexpr std::array<std::string_view, 3> kShells = {"bash", "zsh", "fish"};
constexpr std::string_view kFile = "FILE";

// Keys as --set takes them; of the first outbox, and without what only the user can know.
std::vector<std::string> setting_keys() {
  std::vector<std::string> keys;
  for (const Option& option : options()) {
    std::string key(option.key);
    if (const auto star = key.find('*'); star != std::string::npos) key.replace(star, 1, "0");
    const bool takes_name =
        std::holds_alternative<HeadersField>(option.field) || std::holds_alternative<PropertiesField>(option.field);
    keys.push_back(key + (takes_name ? "." : "="));
  }
  return keys;
}

// What may follow a flag, as far as it is known.
std::vector<std::string> values_of(const FlagHelp& flag) {
  const std::string& name = flag.names.back();
  if (name == "--set") return setting_keys();
  if (name == "--backfill") return {"unprocessed", "all", "since=", "none"};
  std::vector<std::string> values;
  if (name == "--preset") {
    for (const Preset& preset : presets()) values.emplace_back(preset.name);
  }
  for (const Option& option : options()) {
    const auto* choice = std::get_if<ChoiceField>(&option.field);
    if (choice != nullptr && option.flag == name) values.assign(choice->names.begin(), choice->names.end());
  }
  return values;
}

std::vector<FlagHelp> flags_of(const CommandHelp& command) {
  std::vector<FlagHelp> flags = command.own;
  flags.insert(flags.end(), command.common.begin(), command.common.end());
  return flags;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

// ---- bash -----------------------------------------------------------------------------------------------------------

constexpr std::string_view kBash = R"(# bash completion of walrelay, by `walrelay completion bash`
_walrelay() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} command= words= word
  COMPREPLY=()
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in {names}) command=$word ;; esac
  done
  case $prev in
{values}  esac
  case $command in
{commands}    *) words='{all} --help --version' ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}}
complete -F _walrelay walrelay
)";

std::string bash_values(const std::vector<FlagHelp>& flags) {
  std::string cases;
  for (const FlagHelp& flag : flags) {
    if (flag.value.empty()) continue;
    const auto values = values_of(flag);
    const auto names = fmt::format("    {})", fmt::join(flag.names, " | "));
    if (flag.value == kFile) {
      cases +=
          names + " compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n";
    } else if (values.empty()) {
      cases += names + " return ;;\n";
    } else {
      const bool goes_on = flag.names.back() == "--set" || flag.names.back() == "--backfill";
      cases += fmt::format("{} {}mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\"); return ;;\n", names,
                           goes_on ? "compopt -o nospace 2>/dev/null; " : "", fmt::join(values, " "));
    }
  }
  return cases;
}

// Every flag once, though most belong to several commands.
std::vector<FlagHelp> distinct_flags(const std::vector<CommandHelp>& commands) {
  std::vector<FlagHelp> distinct;
  for (const CommandHelp& command : commands) {
    for (const FlagHelp& flag : flags_of(command)) {
      const auto same = [&](const FlagHelp& other) { return other.names == flag.names; };
      if (std::none_of(distinct.begin(), distinct.end(), same)) distinct.push_back(flag);
    }
  }
  return distinct;
}

std::string bash(const std::vector<CommandHelp>& commands) {
  std::vector<std::string> names;
  std::string cases;
  for (const CommandHelp& command : commands) {
    names.push_back(command.name);
    std::vector<std::string> words;
    for (const FlagHelp& flag : flags_of(command)) words.insert(words.end(), flag.names.begin(), flag.names.end());
    if (command.name == "completion") words.insert(words.begin(), kShells.begin(), kShells.end());
    cases += fmt::format("    {}) words='{}' ;;\n", command.name, fmt::join(words, " "));
  }
  return fmt::format(fmt::runtime(kBash), fmt::arg("names", fmt::join(names, " | ")),
                     fmt::arg("values", bash_values(distinct_flags(commands))), fmt::arg("commands", cases),
                     fmt::arg("all", fmt::join(names, " ")));
}

// ---- zsh ------------------------------------------------------------------------------------------------------------

// Within '...' and within [...] of _arguments.
std::string zsh_text(const std::string& text) {
  return replaced(replaced(replaced(replaced(text, "\\", "\\\\"), "[", "\\["), "]", "\\]"), "'", "'\\''");
}

std::string zsh_flag(const FlagHelp& flag, const std::string& name) {
  const bool repeated = flag.value.find('=') != std::string::npos || flag.value == "ID";
  std::string action;
  if (flag.value == kFile) action = "_files";
  if (const auto values = values_of(flag); !values.empty()) action = fmt::format("({})", fmt::join(values, " "));
  const auto argument = flag.value.empty() ? "" : fmt::format(":{}:{}", replaced(flag.value, ":", "\\:"), action);
  return fmt::format("        '{}{}[{}]{}' \\\n", repeated ? "*" : "", name, zsh_text(flag.summary), argument);
}

std::string zsh(const std::vector<CommandHelp>& commands) {
  std::string names;
  std::string cases;
  for (const CommandHelp& command : commands) {
    names += fmt::format("    '{}:{}'\n", command.name, zsh_text(replaced(command.summary, ":", "\\:")));
    std::string flags;
    for (const FlagHelp& flag : flags_of(command)) {
      for (const auto& name : flag.names) flags += zsh_flag(flag, name);
    }
    if (command.name == "completion") flags += fmt::format("        '1:SHELL:({})' \\\n", fmt::join(kShells, " "));
    cases += fmt::format("    {})\n      _arguments \\\n{}        && return 0\n      ;;\n", command.name, flags);
  }
  return fmt::format(
      "#compdef walrelay\n# zsh completion of walrelay, by `walrelay completion zsh`\n_walrelay() {{\n  local -a "
      "commands\n"
      "  commands=(\n{}  )\n  local curcontext=$curcontext state line\n"
      "  _arguments -C '--help[print help]' '--version[print the version]' '1:command:->command' "
      "'*::argument:->argument'\n"
      "  case $state in\n    command) _describe command commands && return 0 ;;\n  esac\n  case $line[1] in\n{}  "
      "esac\n}}\n"
      "if [ \"$funcstack[1]\" = _walrelay ]; then _walrelay \"$@\"; else compdef _walrelay walrelay; fi\n",
      names, cases);
}

// ---- fish -----------------------------------------------------------------------------------------------------------

std::string fish_text(const std::string& text) { return replaced(replaced(text, "\\", "\\\\"), "'", "\\'"); }

std::string fish_flag(const FlagHelp& flag, const std::string& command) {
  std::string line = fmt::format("complete -c walrelay -n '__fish_seen_subcommand_from {}'", command);
  for (const auto& name : flag.names) {
    const bool is_long = name.starts_with("--");
    line += fmt::format(" {} {}", is_long ? "-l" : "-s", name.substr(is_long ? 2 : 1));
  }
  if (!flag.value.empty()) line += flag.value == kFile ? " -rF" : " -x";
  if (const auto values = values_of(flag); !values.empty()) line += fmt::format(" -a '{}'", fmt::join(values, " "));
  return fmt::format("{} -d '{}'\n", line, fish_text(flag.summary));
}

std::string fish(const std::vector<CommandHelp>& commands) {
  std::string script = "# fish completion of walrelay, by `walrelay completion fish`\ncomplete -c walrelay -f\n";
  for (const CommandHelp& command : commands) {
    script += fmt::format("complete -c walrelay -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                          fish_text(command.summary));
    for (const FlagHelp& flag : flags_of(command)) script += fish_flag(flag, command.name);
  }
  script += fmt::format("complete -c walrelay -n '__fish_seen_subcommand_from completion' -a '{}'\n",
                        fmt::join(kShells, " "));
  return script;
}

}  // namespace

std::span<const std::string_view> completion_shells() { return kShells; }

std::string shell_completion(std::string_view shell, const std::vector<CommandHelp>& commands) {
  if (shell == "bash") return bash(commands);
  return shell == "zsh" ? zsh(commands) : fish(commands);
}

}  // namespace walrelay
