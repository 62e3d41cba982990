#pragma once
// The statements by which old rows and old partitions of an outbox table go. Pure.
//
// A row is deleted only once it is published: the statement that chooses rows also tells a position of the log that is
// behind the commit of every row it saw (pg_current_wal_insert_lsn(), as a commit that is not flushed yet can be seen),
// and what it chose is deleted after the relay has confirmed that position. Rows are meant by their place and the
// transaction that wrote them, so that one that was changed or written there since is left alone. PostgreSQL manual,
// "System Columns", "Table Partitioning".

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "connector/postgres/pg_connection.h"
#include "decoder/outbox_rules.h"

namespace walrelay {

struct SqlStatement {
  std::string sql;
  std::vector<std::string> parameters = {};
};

// What has to be known of table and server before a run.
struct RetentionFacts {
  std::string role;
  bool recovering = false;
  int walsender = 0;        // PID that has the slot; 0: none
  std::int64_t now_ms = 0;  // the server's clock, since 1970-01-01 UTC
  bool found = false;       // the table
  bool may_delete = false;  // and read
  bool owned = false;
  std::string relation;    // pg_class.oid
  std::string time_type;   // of the column of timestamp, as format_type() has it; "": no such column
  std::string key_column;  // first of the primary key; "": there is none
  std::string key_type;
  bool by_time = false;           // partitioned by range of the time column alone
  std::string default_partition;  // its pg_class.oid; "": there is none
  std::int64_t rows = 0;          // by the server's statistics
};
[[nodiscard]] SqlStatement retention_facts_sql(const OutboxRules& rules, const std::string& slot);
[[nodiscard]] RetentionFacts retention_facts(const PgRow& row);

struct Partition {
  std::string name;  // quoted
  bool owned = false;
  bool detach_pending = false;  // a detachment that was not finished
  bool is_default = false;
  std::optional<std::int64_t> upper_ms;  // exclusive; unset: without bound
  std::int64_t rows = 0;                 // by the server's statistics
};

// Why nothing can be deleted, and what to do about it.
struct RetentionProblem {
  std::string what;
  std::string remedy;
};
[[nodiscard]] std::optional<RetentionProblem> retention_problem(const OutboxRules& rules, const RetentionFacts& facts);
// The same for a partition that cannot be dropped.
[[nodiscard]] RetentionProblem not_owned(const Partition& partition, const RetentionFacts& facts);

// The column that tells which rows are the oldest: the time's, or else the first of the primary key; "": none.
[[nodiscard]] std::string age_column(const OutboxRules& rules, const RetentionFacts& facts);

// The exact number of rows, as `count`.
[[nodiscard]] SqlStatement count_rows_sql(const OutboxRules& rules);

struct RowChoice {
  std::string order;                      // column
  std::string time_type;                  // where `before_ms` is given
  std::optional<std::int64_t> before_ms;  // unset: of any age
  std::string partition;                  // pg_class.oid of the only one that is meant; "": all
  std::size_t limit = 0;
  std::size_t batch = 0;
};
// The oldest rows in batches; `position` is the same in each row of the result.
[[nodiscard]] SqlStatement choose_rows_sql(const OutboxRules& rules, const RowChoice& choice);

struct RowBatch {
  std::string relation;  // pg_class.oid of table or partition
  std::string places;    // tid[] as text
  std::string writers;   // xid[] as text
  std::int64_t rows = 0;
};
[[nodiscard]] RowBatch row_batch(const PgRow& row);
[[nodiscard]] SqlStatement delete_rows_sql(const OutboxRules& rules, const RowBatch& batch);

[[nodiscard]] SqlStatement partitions_sql(const RetentionFacts& facts);
[[nodiscard]] Partition partition(const PgRow& row);

// Those that hold nothing that is to be kept, oldest first: beyond `keep`, or past and not among the newest that have
// max_rows between them.
[[nodiscard]] std::vector<Partition> expired_partitions(const RetentionRules& rules, std::int64_t now_ms,
                                                        std::vector<Partition> partitions);

[[nodiscard]] SqlStatement position_sql();
// Concurrently, which inserts are not held up by and which is neither in PostgreSQL 13 nor beside a default partition;
// else with a wait for the lock that is short.
[[nodiscard]] SqlStatement detach_sql(const OutboxRules& rules, const Partition& partition, bool concurrently);
// Marks it, so that it is dropped even if the relay ends in between.
[[nodiscard]] SqlStatement mark_detached_sql(const OutboxRules& rules, const Partition& partition);
[[nodiscard]] SqlStatement detached_sql(const OutboxRules& rules);  // `position`, and `name`, quoted
[[nodiscard]] SqlStatement drop_sql(const std::string& name);

}  // namespace walrelay
