#pragma once
// A PostgreSQL as far as a relay can see it: committed transactions at log positions, and one slot with its confirmed
// position.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "connector/server_history.h"
#include "connector/source.h"

namespace walrelay::test {

struct SimRow {
  std::string id;
  std::string key;
};

struct SimTransaction {
  Lsn commit_lsn;
  Lsn end_lsn;
  std::uint32_t xid = 0;
  std::vector<SimRow> rows;  // none: it touched no published table
};

class SimServer;

// One replication session. Gives as many frames as it was granted, so that a step ends anywhere in a transaction.
class SimSource final : public Source {
 public:
  SimSource(SimServer& server, Lsn from);
  void grant(std::size_t frames) { granted_ += frames; }
  void keepalive(bool reply_requested);
  void lose() { lost_ = true; }

  ReceiveStatus receive(std::string_view& frame) override;
  [[nodiscard]] SourceEnd end() const override { return end_; }
  [[nodiscard]] const SourceError& error() const override { return error_; }
  bool send_status(Lsn written, Lsn flushed, Lsn applied, PgTime now, bool reply_requested) override;
  [[nodiscard]] int descriptor() const override { return -1; }
  [[nodiscard]] bool wants_write() const override { return false; }

 private:
  void queue_next_transaction();
  [[nodiscard]] bool caught_up() const;

  SimServer& server_;
  std::size_t next_ = 0;  // transaction
  std::deque<std::string> frames_;
  Lsn sending_;  // commit record of the transaction whose frames are queued
  bool relation_sent_ = false;
  std::string current_;
  std::size_t granted_ = 0;
  bool lost_ = false;
  SourceEnd end_ = SourceEnd::none;
  SourceError error_;
};

class SimServer {
 public:
  // Called with each flush position that moves the slot; the oracle.
  std::function<void(Lsn)> on_confirmed;

  void commit(std::vector<SimRow> rows, std::uint64_t record_bytes);
  void write_elsewhere(std::uint64_t bytes) { position_.value += bytes; }
  void checkpoint() { persisted_ = confirmed_; }
  // Forgets confirmations since the last checkpoint, as a crashed server does.
  void crash() { confirmed_ = persisted_; }

  // A backup is a copy of what there is; set back to it, the server goes its own way from there.
  [[nodiscard]] SimServer backup() const { return *this; }
  void restore(const SimServer& backup) {
    const auto listener = on_confirmed;
    *this = backup;
    on_confirmed = listener;
    first_xid_ += 1'000'000;
  }

  void take_status(Lsn flushed);
  [[nodiscard]] ServerHistory history() const {
    return {.system_identifier = "77", .timeline = 1, .flushed = position_, .database = "shop"};
  }
  [[nodiscard]] Lsn position() const { return position_; }
  [[nodiscard]] Lsn confirmed() const { return confirmed_; }
  [[nodiscard]] const std::vector<SimTransaction>& transactions() const { return transactions_; }

 private:
  std::vector<SimTransaction> transactions_;
  Lsn position_{10'000};
  Lsn confirmed_{10'000};
  Lsn persisted_{10'000};
  std::uint32_t first_xid_ = 100;
};

}  // namespace walrelay::test
