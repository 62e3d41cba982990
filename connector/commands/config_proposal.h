#pragma once
// The configuration file that `init` proposes: what differs from the defaults, no secret in it. Pure.

#include <span>
#include <string>

#include "connector/config/config.h"

namespace walrelay {

// `outboxes` with their presets filled in. `role`: whom the relay connects as, "" = as in the connection string.
[[nodiscard]] std::string propose_config(const Config& config, std::span<const OutboxRules> outboxes,
                                         const std::string& role);

}  // namespace walrelay
