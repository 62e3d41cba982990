#pragma once
// What the commands that talk to PostgreSQL have in common.

#include <functional>
#include <string>
#include <string_view>

#include "connector/config/config.h"
#include "connector/exit_code.h"
#include "connector/postgres/pg_connection.h"

namespace walrelay {

void print_out(std::string_view text);  // to stdout, as it is
void say(std::string_view line);        // a line for people, to stderr

// Asks for people's consent on stderr, and says that nothing was done if they do not type y or yes.
[[nodiscard]] bool agreed(std::string_view question);

// Runs a command; an exception becomes one line on stderr ("walrelay init: ...") and an exit status.
[[nodiscard]] ExitCode guarded(std::string_view command, const std::function<ExitCode()>& body);

// 3 for what somebody has to change at the server, 1 for what may heal.
[[nodiscard]] ExitCode exit_code_of(const PgError& error);

// How ordinary queries reach the server: postgres.query_dsn, or else postgres.dsn.
[[nodiscard]] Conninfo query_conninfo(const PostgresOptions& options);
[[nodiscard]] inline Conninfo query_conninfo(const Config& config) { return query_conninfo(config.postgres); }

[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace walrelay
