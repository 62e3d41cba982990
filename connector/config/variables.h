#pragma once
// References in the strings of a configuration: ${NAME} is an environment variable, ${file:/path} the content of a file
// without its last line break, $${ a literal ${. What a reference gives is not looked through again.

#include <string>
#include <string_view>

#include "connector/config/setting.h"

namespace walrelay {

// Throws ConfigError naming the setting if a variable is not set, a file cannot be read, or a reference does not end.
[[nodiscard]] std::string expand_variables(std::string_view text, const Setting& setting);

}  // namespace walrelay
