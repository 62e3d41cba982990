#pragma once
// walrelay(1), written by `walrelay config --man` in the man macros of roff: commands and flags from the command line,
// settings from the options table, exit statuses from theirs.

#include <string>
#include <vector>

#include "connector/commands/command_line.h"

namespace walrelay {

[[nodiscard]] std::string man_page(const std::vector<CommandHelp>& commands);

}  // namespace walrelay
