#pragma once
// What write-back says to the server: which columns there are, and the statements that mark rows as processed, delete
// them, or tell a failure in them; and what its refusals mean. Pure; the texts are for the simple protocol, several
// statements in one message: one transaction, with time-outs of its own, also behind a pooler that shares sessions.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "connector/write_back_queue.h"
#include "decoder/column_info.h"
#include "decoder/outbox_rules.h"

namespace walrelay {

// A column as kWriteBackColumnsSql describes it.
struct WriteBackColumn {
  ColumnInfo info;
  std::string type;         // as SQL names it, a domain's own: "uuid", "public.order_id"
  int characters_max = 0;   // of a varchar or char; 0: no limit
  bool partitions = false;  // part of a partition key
};

// Parameters: schema, table, names of columns as an array. Columns: name, base, type, characters, partitions.
extern const char* const kWriteBackColumnsSql;

// The columns that write-back reads or writes, the id first. Throws RuleError, as row_id_column().
[[nodiscard]] std::vector<std::string> write_back_columns(const OutboxRules& rules);

// The rights that it needs on the table.
[[nodiscard]] std::string grant_write_back_sql(const OutboxRules& rules, std::string_view role);

// What it means that the server refuses such a statement, by SQLSTATE ("": no answer).
enum class WriteBackRefusal : std::uint8_t {
  passing,  // connection, shutdown, lack of resources, deadlock, lock, time-out, a server that only reads: may heal
  table,    // every row of the table would be refused
  rows,     // these rows
};
[[nodiscard]] WriteBackRefusal classify_write_back(std::string_view sqlstate);
inline constexpr std::string_view kLockNotAvailable = "55P03";

// What to do about it, to follow the reason: "; remedy: ...", "" if that is not known.
[[nodiscard]] std::string write_back_remedy(std::string_view sqlstate, const OutboxRules& rules, std::string_view role);

// `unseen`: whether a transaction that inserted some of the rows is not visible to others yet. A commit is streamed
// once it is flushed, and becomes visible after that: a moment later, or, with synchronous replication, when the
// standby has answered.
[[nodiscard]] std::string visibility_sql(const WriteBackBatch& batch);

class WriteBackStatements {
 public:
  // `columns`: those of write_back_columns(), without mapping problems.
  WriteBackStatements(const OutboxRules& rules, std::span<const WriteBackColumn> columns);

  // `only_free`: passes over rows that another transaction has locked. A failure's row is always waited for.
  [[nodiscard]] std::string of(const WriteBackBatch& batch, bool only_free) const;

 private:
  [[nodiscard]] std::string rows_sql(const WriteBackBatch& batch, bool only_free) const;
  [[nodiscard]] std::string failure_sql(const WriteBackBatch& batch) const;

  std::string table_;
  std::string id_;
  std::string id_type_;
  std::string mark_;           // "UPDATE ... SET ...", or "DELETE FROM ..."
  std::string lock_;           // that the same rows are locked with
  std::string open_;           // " AND ...": a row that is still to be marked
  std::string untold_;         // " AND ...": a row that tells no failure
  std::string count_attempt_;  // "attempts" = ..., ""
  std::string error_;          // its column, ""
  std::string error_value_;    // with {} for the text
};

}  // namespace walrelay
