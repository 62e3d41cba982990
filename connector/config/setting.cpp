#include "connector/config/setting.h"

#include <fmt/format.h>

namespace walrelay {

void refuse(const Setting& setting, std::string_view reason) {
  throw ConfigError(fmt::format("{}: {}: {}", setting.origin, setting.key, reason));
}

}  // namespace walrelay
