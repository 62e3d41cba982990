#pragma once
// What `check` and `init` ask the catalog about write-back. Each may throw PgError, and RuleError as row_id_column().

#include <string>

#include "connector/postgres/pg_connection.h"
#include "decoder/outbox_rules.h"

namespace walrelay {

// Whether the role has the rights of grant_write_back_sql(). False if role, table or columns are not there.
[[nodiscard]] bool may_write_back(PgConnection& connection, const OutboxRules& rules, const std::string& role);

// Whether an index serves to find rows by their id: valid, of all rows, beginning with that column.
[[nodiscard]] bool has_index_on_id(PgConnection& connection, const OutboxRules& rules);

}  // namespace walrelay
