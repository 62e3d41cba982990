#pragma once
// File + flags -> the effective configuration.

#include <string>
#include <string_view>
#include <vector>

#include "connector/config/config.h"
#include "connector/config/config_builder.h"
#include "connector/config/setting.h"

namespace walrelay {

struct ConfigRequest {
  std::string file;               // "" reads none: nothing is looked for in the current directory
  std::vector<Setting> settings;  // from flags, later ones win; all of them win over the file
  Mapping mapping = Mapping::required;
};

// Throws ConfigError.
[[nodiscard]] Config load_config(const ConfigRequest& request);

// The same with what ${file:...} in dsn and query_dsn holds now, for each new connection: a password may have been
// changed. What cannot be read at this moment stays as it is.
[[nodiscard]] PostgresOptions reread_secrets(PostgresOptions options);

// What a command cannot do without, else ConfigError with the way to say it.
void require_outbox(const Config& config, std::string_view command);
void require_table(const Config& config, std::string_view command);  // an outbox that is not of messages
void require_sink(const Config& config, std::string_view command);

}  // namespace walrelay
