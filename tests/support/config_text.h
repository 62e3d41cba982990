#pragma once
// Configurations from text, as the program reads them from a file.

#include <string>
#include <string_view>
#include <vector>

#include "connector/config/config_builder.h"
#include "connector/config/config_file.h"

namespace walrelay::test {

inline Config config_of(std::string_view toml, const std::vector<Setting>& flags = {},
                        Mapping mapping = Mapping::required) {
  ConfigBuilder builder;
  for (const Setting& setting : parse_config_text(toml, "relay.toml")) builder.apply(setting);
  for (const Setting& setting : flags) builder.apply(setting);
  return builder.finish(mapping);
}

// The one line that refuses it; "accepted" if it is not refused.
inline std::string refusal_of(std::string_view toml, const std::vector<Setting>& flags = {},
                              Mapping mapping = Mapping::required) {
  try {
    static_cast<void>(config_of(toml, flags, mapping));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace walrelay::test
