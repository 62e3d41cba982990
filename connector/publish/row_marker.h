#pragma once
// Writes to the rows that a command has published from the table what the relay would have: marks or deletes those
// whose events are acknowledged, and tells in the others why they could not be delivered. By the same statements, on a
// connection of its own, as the command's holds a snapshot.
//
// Publishing does not depend on it. What the server refuses is counted, and told once for each table; what may pass, as
// a lock, is tried again at the end. Nothing is written of a row whose event is not settled, and what was settled since
// the last round is not written when a process dies: at least once.
//
// Thread: the command's; blocks while rows are written, each statement for a few seconds at most. No errors but those
// of `between`.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connector/clock.h"
#include "connector/config/config.h"
#include "connector/postgres/pg_connection.h"
#include "connector/postgres/write_back_sql.h"
#include "connector/write_back_queue.h"

namespace walrelay {

// Rows, by what was done to them.
struct RowMarks {
  std::uint64_t marked = 0;
  std::uint64_t deleted = 0;
  std::uint64_t told = 0;    // of a failure
  std::uint64_t failed = 0;  // could not be written to
  // "3 rows marked, 1 failure told in the table, 2 rows could not be written to"; "" if there is nothing to say.
  [[nodiscard]] std::string to_string() const;
};

class RowMarker {
 public:
  static constexpr std::size_t kRowsPerRound = 10'000;
  // A table whose rows cannot be written to now is not asked for so long.
  static constexpr Duration kRest = std::chrono::seconds(10);
  static constexpr std::size_t kPostponedMax = 100;  // batches

  // `config` stays the caller's.
  RowMarker(const Config& config, Lsn position);

  // To be called before the event is given to the sink.
  void sent(std::size_t outbox, std::string_view id) { queue_.sent(outbox, place_, id); }
  // Its event is refused for good, by the sink or before it.
  void failed(std::size_t outbox, std::string_view id, const Rejection& rejection);

  // It is time to await all acknowledgements and to write.
  [[nodiscard]] bool full() const { return queue_.full(); }
  // Every event that was sent is settled: writes. `between` is called after each batch, and may throw.
  void write_settled(const std::function<void()>& between);
  // Writes what is due without that: failures. For a command that ends early.
  void write_due(const std::function<void()>& between);
  // After the last write_settled(): what was postponed.
  void finish();

  [[nodiscard]] const RowMarks& marks() const { return marks_; }

 private:
  struct Table {
    std::optional<WriteBackStatements> statements;
    Instant rests_until{};
    std::string trouble;  // the last one
    bool told = false;
  };

  // Whether all of the batch's rows have been dealt with.
  [[nodiscard]] bool write(WriteBackBatch& batch);
  [[nodiscard]] bool execute(WriteBackBatch& batch);
  [[nodiscard]] bool refused(const WriteBackBatch& batch, const PgError& error);
  void run(WriteBackBatch& batch, bool only_free);
  void postpone(const WriteBackBatch& batch);
  void give_up(const WriteBackBatch& batch);

  const Config& config_;
  const Conninfo conninfo_;
  const TransactionStart place_;
  WriteBackQueue queue_;
  std::vector<Table> tables_;
  std::vector<WriteBackBatch> postponed_;
  std::optional<PgConnection> connection_;  // while rows are written
  RowMarks marks_;
};

}  // namespace walrelay
