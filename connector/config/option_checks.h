#pragma once
// Checks of single values: each returns why the text is not accepted and what to write instead, "" if it is accepted.

#include <string>
#include <string_view>

namespace walrelay {

[[nodiscard]] std::string any_text(std::string_view text);

// PostgreSQL manual, "Replication Slots": [a-z0-9_], at most 63 of them. Proposes a valid name.
[[nodiscard]] std::string slot_name_problem(std::string_view text);

// Any name of 1 to 63 bytes.
[[nodiscard]] std::string publication_problem(std::string_view text);

// "" means libpq's environment variables and defaults.
[[nodiscard]] std::string dsn_problem(std::string_view text);

// schema.table, split at the first dot, both exactly as in the catalog.
[[nodiscard]] std::string table_problem(std::string_view text);

// A column's name, which is not a template.
[[nodiscard]] std::string column_problem(std::string_view text);
[[nodiscard]] std::string after_problem(std::string_view text);

// host:port, or "" for none.
[[nodiscard]] std::string listen_problem(std::string_view text);

// [a-zA-Z0-9._-], at most 249 of them; "" for none.
[[nodiscard]] std::string topic_problem(std::string_view text);

}  // namespace walrelay
