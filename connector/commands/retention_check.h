#pragma once
// The part of `check` that looks at what [outbox.retention] needs of its table.

#include "connector/commands/check.h"
#include "connector/postgres/pg_connection.h"

namespace walrelay {

// Nothing for an [[outbox]] without retention. Throws PgError.
void check_retention(Findings& findings, PgConnection& connection, const OutboxRules& rules);

}  // namespace walrelay
