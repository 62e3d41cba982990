#pragma once
// The rows of an outbox table, in the shape in which the stream would bring them: described by a Relation message, each
// an Insert with the values' text. Read by a cursor, row by row, so that memory is bounded by the largest row.
// Thread: one at a time. Errors: PgError; RuleError as make_row_query().

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "connector/postgres/pg_connection.h"
#include "connector/postgres/row_query.h"
#include "decoder/outbox_rules.h"
#include "decoder/pgoutput_messages.h"

namespace walrelay {

// Called again and again while the server is waited for; may throw.
using Tick = std::function<void()>;

// To be called first in a transaction of isolation level REPEATABLE READ: it sees what `snapshot` sees ("": what is
// committed now), texts of values are as in the stream, a row that a policy would hide is an error, and no time-out of
// the role ends it half way.
void prepare_row_transaction(PgConnection& connection, const std::string& snapshot);

// `table` as in the configuration; it must exist.
[[nodiscard]] RowTable read_row_table(PgConnection& connection, const std::string& table);

class TableRows {
 public:
  // `connection` in a prepared transaction that outlives this. `id` tells this table's Relation from others'.
  TableRows(PgConnection& connection, const OutboxRules& rules, const RowFilter& filter, RelationId id);

  // RuleError: an id of the filter is none of its column's type.
  [[nodiscard]] std::int64_t count(const Tick& tick);

  // Views into this object.
  [[nodiscard]] RelationMessage relation() const;
  // False after the last row. Until it is false, nothing else may use the connection.
  [[nodiscard]] bool next(const Tick& tick);
  // The row that next() got; valid until the next call of it.
  [[nodiscard]] InsertMessage row() const { return {id_, values_}; }

 private:
  void fetch(const Tick& tick);
  [[nodiscard]] PgResultHandle take_result(const Tick& tick);
  void take_row(PgResultHandle result);

  PgConnection& connection_;
  RelationId id_;
  std::string schema_;
  std::string name_;
  RowQuery query_;
  std::vector<RelationColumn> relation_columns_;
  std::vector<ColumnValue> values_;
  PgResultHandle row_;
  bool declared_ = false;
  bool fetching_ = false;
  bool fetched_any_ = false;  // rows, by the fetch that is under way
};

}  // namespace walrelay
