#pragma once
// docs/configuration.md, written by `walrelay config --reference`: keys, types, ranges and defaults come from the
// options table.

#include <span>
#include <string>
#include <string_view>

#include "connector/config/options.h"
#include "connector/exit_code.h"

namespace walrelay {

[[nodiscard]] std::string config_reference();

// Of one option, in Markdown's `code` where it is one: what may be given, and what holds if nothing is.
[[nodiscard]] std::string option_type(const Option& option);
[[nodiscard]] std::string option_default(const Option& option);

struct ExitMeaning {
  ExitCode code;
  std::string_view meaning;
};
[[nodiscard]] std::span<const ExitMeaning> exit_meanings();

}  // namespace walrelay
