#pragma once
// What may be confirmed: transactions in commit order, each with the number of its records that are not settled. The
// confirmed position is the end of the longest finished prefix, and this class is the only place that moves it.
//
// Thread: the loop thread. Memory: one small entry for each transaction that is not confirmed; transactions without
// records are folded into the one before them, so the entries are bounded by the records in flight. LSNs: only Commit's
// end_lsn and keepalive positions. XLogData headers go backwards and are never used.

#include <cstdint>
#include <optional>
#include <vector>

#include "connector/clock.h"
#include "decoder/lsn.h"

namespace walrelay {

// What a Begin message says of a transaction.
struct TransactionStart {
  Lsn commit_lsn;  // start of its commit record; less than the end that is confirmed
  std::uint32_t xid = 0;
  PgTime commit_time = 0;
};

// One commit, as the log has it: where it ends and which it is.
struct CommitMark {
  Lsn end_lsn;
  std::uint32_t xid = 0;
  PgTime time = 0;
  bool operator==(const CommitMark&) const = default;
};

class AckFrontier {
 public:
  using Ordinal = std::uint64_t;  // counts transactions with records, from 0

  // `confirmed`: where the slot stands; nothing before it comes again.
  explicit AckFrontier(Lsn confirmed);

  // A transaction begins; only one is open at a time, since the server sends whole transactions in commit order.
  Ordinal open(const TransactionStart& start);
  // One record of the open transaction was handed to the sink.
  void add();
  // The open transaction is complete.
  void close(Lsn end_lsn);

  // One record of that transaction is delivered, dead-lettered or skipped by policy. True if it was the last one
  // outstanding of a closed transaction.
  bool settled(Ordinal ordinal);

  // The server has nothing for us up to here. Counts only when nothing is open or outstanding: a keepalive can overtake
  // what is in flight.
  void keepalive(Lsn position);

  [[nodiscard]] Lsn confirmed() const { return confirmed_; }
  // The last transaction with records at or before it; none if there was none yet.
  [[nodiscard]] const std::optional<CommitMark>& last_commit() const { return last_commit_; }
  // Records of complete transactions that are not confirmed, delivered or not: what a crash would repeat.
  [[nodiscard]] std::uint64_t unconfirmed_records() const { return unconfirmed_records_; }
  // End of the last complete transaction or counted keepalive: where a new session may go on without a repeat.
  [[nodiscard]] Lsn received() const { return received_; }
  [[nodiscard]] bool transaction_open() const { return open_; }
  [[nodiscard]] bool idle() const { return size_ == 0; }
  [[nodiscard]] bool contains(Ordinal ordinal) const { return ordinal >= first_ && ordinal - first_ < size_; }
  // The oldest transaction that is not confirmed, or the next to come.
  [[nodiscard]] Ordinal first() const { return first_; }
  // Of one that is not confirmed.
  [[nodiscard]] const TransactionStart& start_of(Ordinal ordinal) const;

 private:
  struct Transaction {
    TransactionStart start;
    Lsn end_lsn;     // invalid while open; that of the empty ones folded into it
    Lsn commit_end;  // its own
    std::uint64_t records = 0;
    std::uint64_t outstanding = 0;
  };

  [[nodiscard]] Transaction& at(Ordinal ordinal);
  [[nodiscard]] Transaction& newest() { return at(first_ + size_ - 1); }
  void grow();
  void advance();
  void move_confirmed(Lsn position);

  std::vector<Transaction> ring_;  // size a power of two
  Ordinal first_ = 0;              // the oldest transaction that is not confirmed
  std::uint64_t size_ = 0;
  bool open_ = false;  // the newest one is
  std::uint64_t unconfirmed_records_ = 0;
  Lsn confirmed_;
  Lsn received_;
  std::optional<CommitMark> last_commit_;
};

}  // namespace walrelay
