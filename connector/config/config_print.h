#pragma once
// `walrelay config`: the effective configuration as TOML that can be read again. Passwords of connection strings and
// secret properties of librdkafka are shown as ***.

#include <string>
#include <string_view>

#include "connector/config/config.h"
#include "connector/config/options.h"

namespace walrelay {

[[nodiscard]] std::string print_config(const Config& config);

// A basic string of TOML, in quotes; ${ is doubled so that it is not taken for a reference when read again.
[[nodiscard]] std::string toml_string(std::string_view text);

// [outbox.retention] of an [[outbox]], to stand below it; "" if it has none.
[[nodiscard]] std::string print_retention(const OutboxRules& rules);

// The value of an option outside of any [[outbox]] as it is written in the file.
[[nodiscard]] std::string print_option(const Option& option, Config& config);

// A section other than [[outbox]] and [sink.kafka] with its lines that are not the defaults; "" if there are none.
[[nodiscard]] std::string print_changed(std::string_view section, const Config& config);

// [outbox.cloudevents] of an [[outbox]], to stand below it; "" if it has none.
[[nodiscard]] std::string print_cloudevents(const OutboxRules& rules);

}  // namespace walrelay
