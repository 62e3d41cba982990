#pragma once
// What the catalog says of the tables that are written back to. What asks it may throw PgError, and RuleError as
// row_id_column().

#include <string>
#include <vector>

#include "connector/postgres/pg_connection.h"
#include "connector/postgres/write_back_sql.h"
#include "decoder/outbox_rules.h"

namespace walrelay {

// Whether the role has the rights of grant_write_back_sql(). False if role, table or columns are not there.
[[nodiscard]] bool may_write_back(PgConnection& connection, const OutboxRules& rules, const std::string& role);

// Whether an index serves to find rows by their id: valid, of all rows, beginning with that column.
[[nodiscard]] bool has_index_on_id(PgConnection& connection, const OutboxRules& rules);

// Those that write-back reads or writes, as they are.
[[nodiscard]] std::vector<WriteBackColumn> read_write_back_columns(PgConnection& connection, const OutboxRules& rules);
// The answer to kWriteBackColumnsSql.
[[nodiscard]] std::vector<WriteBackColumn> take_write_back_columns(const PgRows& answer);

// The column that would be written to, and is in a partition key: writing to it would move the row. "" if there is
// none.
[[nodiscard]] std::string moving_column(const OutboxRules& rules, const std::vector<WriteBackColumn>& columns);

// The statements for the table as it is. RuleError: a column is missing, or cannot be written to.
[[nodiscard]] WriteBackStatements make_write_back_statements(const OutboxRules& rules,
                                                             const std::vector<WriteBackColumn>& columns);

}  // namespace walrelay
