#pragma once
// docs/configuration.md, written by `walrelay config --reference`: keys, types, ranges and defaults come from the
// options table.

#include <string>

namespace walrelay {

[[nodiscard]] std::string config_reference();

}  // namespace walrelay
