#pragma once
// Rows of the outbox tables → router → sink, for the commands that publish from the tables and not from the stream:
// the same rules, sink, bounds and policies, and the same write-back. Blocks until every event is settled.

#include <functional>
#include <string>

#include "connector/config/config.h"
#include "connector/postgres/row_query.h"
#include "connector/publish/event_publisher.h"
#include "connector/publish/row_marker.h"

namespace walrelay {

class PgConnection;

struct RowJob {
  std::string what;      // "backfill": for people
  RowFilter filter;      // of each table
  std::string snapshot;  // exported by a session that holds it; "": what is committed now
  Lsn position;          // where the snapshot stands; stands in for the rows' commit positions
};

struct RowsPublished {
  PublishTally events;
  RowMarks marks;
};

// The [[outbox]]es of `config` with their presets filled in. Table by table; `connection` is used for a transaction
// that reads. Takes SIGINT and SIGTERM meanwhile. Throws PublishStopped, PgError, RuleError, and what make_sink()
// throws.
RowsPublished publish_rows(PgConnection& connection, const Config& config, const RowJob& job);

}  // namespace walrelay
