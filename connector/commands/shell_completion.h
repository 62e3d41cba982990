#pragma once
// Scripts that complete walrelay's command line, made from the same tables as the command line itself.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "connector/commands/command_line.h"

namespace walrelay {

[[nodiscard]] std::span<const std::string_view> completion_shells();  // bash, zsh, fish

// `shell`: one of completion_shells().
[[nodiscard]] std::string shell_completion(std::string_view shell, const std::vector<CommandHelp>& commands);

}  // namespace walrelay
