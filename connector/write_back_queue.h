#pragma once
// Rows of outbox tables that are to be written to once their events are settled: marked as processed, deleted, or told
// why their event could not be delivered. Between the relay, which says what became of the events, and WriteBack, which
// writes. A position counts as confirmable when every row before it has been written, or given up.
//
// An event is due with its transaction: when the frontier has passed its commit record. So acks in any order need no
// look-up, and nothing is written of what a crash would send again. What is not written when a process dies is not
// confirmed either: its transactions come again, to be published or as covered by the progress record, and with them
// their rows.
//
// Pure; thread: the loop thread. Memory: the ids of rows in flight or not written, at most `rows_max` and what one step
// adds.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connector/ack_frontier.h"
#include "connector/clock.h"
#include "decoder/rejection.h"

namespace walrelay {

// Rows that one statement writes to.
struct WriteBackBatch {
  enum class Kind : std::uint8_t {
    delivered,  // acknowledged by the sink
    covered,    // dealt with before this relay began, as the progress record says: delivered, or a failure that is told
    failed,     // one row: refused for good
  };
  Kind kind = Kind::delivered;
  std::size_t outbox = 0;  // index of the [[outbox]]
  std::string ids;         // as the text of a PostgreSQL array; of a failure the id itself
  std::size_t rows = 0;
  std::size_t rows_written = 0;        // of them, by tries that did not reach all
  std::vector<std::uint32_t> writers;  // xids of the transactions that inserted them
  bool visible = false;                // these were known to be visible before the last try
  std::string reason;                  // of a failure
  Lsn before;                          // up to here may be confirmed while it is not written
  PgTime commit_time = 0;              // of the first row's transaction
  Instant since{};                     // when it was begun
};

class WriteBackQueue {
 public:
  static constexpr std::size_t kBatchRowsMax = 1000;
  static constexpr std::size_t kBatchBytesMax = std::size_t{1} << 20U;
  // How long a batch waits for more rows: a transaction and a flush of the server's log for each event would be dear.
  static constexpr Duration kBatchDelay = std::chrono::milliseconds(100);

  // What is written of one [[outbox]].
  struct Use {
    bool delivered = false;  // its rows are marked or deleted
    bool failed = false;     // failures are told in them
  };

  // `failures_pass`: the configuration lets events go undelivered (dead letters, skipped).
  WriteBackQueue(std::vector<Use> uses, bool failures_pass, std::size_t rows_max)
      : uses_(std::move(uses)), failures_pass_(failures_pass), rows_max_(rows_max) {}

  // ---- the relay's side

  // A relay begins at this position: everything beyond it comes again.
  void restart(Lsn confirmed);

  // The sink has taken the event of this row. An empty id finds no row.
  void sent(std::size_t outbox, const TransactionStart& transaction, std::string_view id) {
    if (uses_[outbox].delivered) add(in_flight_, outbox, transaction, id);
  }
  // The event of this row is covered. Where failures pass and are not told in the row, it might be one that was not
  // delivered: it is left alone then.
  [[nodiscard]] bool wants_covered(std::size_t outbox) const {
    return uses_[outbox].delivered && (uses_[outbox].failed || !failures_pass_);
  }
  void covered(std::size_t outbox, const TransactionStart& transaction, std::string_view id);
  // The recorded commit has been met. Only then are covered rows touched: until then it may be the log of a restored
  // copy, whose rows were never published.
  void covered_met() { in_flight_.swap(covered_); }
  // The event will not be delivered: its row is not marked, and is told at once.
  void failed(std::size_t outbox, const TransactionStart& transaction, std::string_view id, const Rejection& rejection,
              Instant now);

  // Every event of every transaction up to here is settled.
  void settled(Lsn frontier, Instant now);
  // Every event so far is settled, also those of a transaction that is not complete.
  void all_settled(Instant now);
  // What is due is not to wait for more.
  void hurry() { hurry_ = true; }

  // How far may be confirmed, of a position that is settled.
  [[nodiscard]] Lsn confirmable(Lsn position) const;
  [[nodiscard]] bool full() const { return pending() >= rows_max_; }
  // Nothing is due or being written.
  [[nodiscard]] bool idle() const { return due_.empty() && !under_way_; }
  // A failure is not told in its row yet. No progress record is to cover it before that: a covered row without it
  // passes for a delivered one.
  [[nodiscard]] bool failures_pending() const { return failures_due_ > 0; }
  // Rows of events in flight, and those that are due.
  [[nodiscard]] std::size_t pending() const { return in_flight_.size() + rows_due_; }
  // The commit time of the oldest row that is due.
  [[nodiscard]] std::optional<PgTime> oldest_commit() const;

  // ---- the writer's side; one batch is under way at a time

  // When begin() has something to give; nothing while there is nothing, or while one is under way.
  [[nodiscard]] std::optional<Instant> due() const;
  // The oldest batch. It is under way until finished() or put_back().
  [[nodiscard]] WriteBackBatch& begin();
  [[nodiscard]] WriteBackBatch& under_way() { return *under_way_; }
  // Written, or given up.
  void finished();
  // To be tried again.
  void put_back();

 private:
  struct Row {
    std::string id;
    Lsn commit_lsn;
    PgTime commit_time = 0;
    std::uint32_t writer = 0;  // xid
    std::uint32_t outbox = 0;
    bool covered = false;
    bool failed = false;
  };

  void add(std::deque<Row>& rows, std::size_t outbox, const TransactionStart& transaction, std::string_view id);
  void make_due(const Row& row, Instant now);
  [[nodiscard]] WriteBackBatch& batch_for(const Row& row, Instant now);
  void withdraw(std::size_t outbox, Lsn commit_lsn, std::string_view id);

  std::vector<Use> uses_;
  bool failures_pass_;
  std::size_t rows_max_;
  std::deque<Row> covered_;         // in commit order; the last `rows_max`, as no relay leaves more than that unwritten
  std::deque<Row> in_flight_;       // in commit order
  std::deque<WriteBackBatch> due_;  // in the order they were begun, so `before` never falls
  std::optional<WriteBackBatch> under_way_;
  std::size_t rows_due_ = 0;
  std::size_t failures_due_ = 0;
  Lsn settled_;  // all rows before it are due or written
  bool hurry_ = false;
};

}  // namespace walrelay
