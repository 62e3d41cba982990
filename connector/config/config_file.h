#pragma once
// The configuration file: TOML 1.0 (https://toml.io/en/v1.0.0), read into settings whose keys nobody has checked yet.

#include <string>
#include <string_view>
#include <vector>

#include "connector/config/setting.h"

namespace walrelay {

// In the order of the file: headers and librdkafka properties keep it. Throws ConfigError if the file cannot be read or
// is not TOML, naming line and column.
[[nodiscard]] std::vector<Setting> read_config_file(const std::string& path);

// The same for text that is already in memory; `name` stands for the file in messages.
[[nodiscard]] std::vector<Setting> parse_config_text(std::string_view text, const std::string& name);

}  // namespace walrelay
