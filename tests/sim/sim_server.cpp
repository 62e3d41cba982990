#include "tests/sim/sim_server.h"

#include <utility>

#include "tests/support/stream_bytes.h"

namespace walrelay::test {

void SimServer::commit(std::vector<SimRow> rows, std::uint64_t record_bytes) {
  const Lsn commit_lsn{position_.value + record_bytes};
  position_ = Lsn{commit_lsn.value + 48};
  transactions_.push_back(
      {commit_lsn, position_, first_xid_ + static_cast<std::uint32_t>(transactions_.size()), std::move(rows)});
}

void SimServer::take_status(Lsn flushed) {
  if (flushed <= confirmed_) return;
  confirmed_ = flushed;
  on_confirmed(flushed);
}

// As PostgreSQL: the later of the asked and the confirmed position decides, by the transactions' ends.
SimSource::SimSource(SimServer& server, Lsn from) : server_(server) {
  const Lsn start = std::max(from, server.confirmed());
  const auto& transactions = server.transactions();
  while (next_ < transactions.size() && transactions[next_].end_lsn <= start) ++next_;
}

bool SimSource::caught_up() const { return frames_.empty() && next_ == server_.transactions().size(); }

void SimSource::queue_next_transaction() {
  if (!frames_.empty() || next_ == server_.transactions().size()) return;
  const SimTransaction& transaction = server_.transactions()[next_++];
  sending_ = transaction.commit_lsn;
  frames_.push_back(begin_frame(transaction.commit_lsn, transaction.xid));
  if (!transaction.rows.empty() && !std::exchange(relation_sent_, true)) frames_.push_back(relation_frame());
  for (const auto& row : transaction.rows) frames_.push_back(insert_frame(row.id, row.key, "payload of " + row.id));
  frames_.push_back(commit_frame(transaction.commit_lsn, transaction.end_lsn));
}

void SimSource::keepalive(bool reply_requested) {
  const Lsn wal_end = caught_up() ? server_.position() : sending_;
  if (frames_.empty() && !caught_up()) return;  // between two transactions of a backlog the server has no time for it
  frames_.push_front(keepalive_frame(wal_end, reply_requested));
  ++granted_;
}

ReceiveStatus SimSource::receive(std::string_view& frame) {
  if (lost_) {
    end_ = SourceEnd::connection_lost;
    return ReceiveStatus::ended;
  }
  if (granted_ == 0) return ReceiveStatus::nothing_yet;
  queue_next_transaction();
  if (frames_.empty()) return ReceiveStatus::nothing_yet;
  --granted_;
  current_ = std::move(frames_.front());
  frames_.pop_front();
  frame = current_;
  return ReceiveStatus::frame;
}

bool SimSource::send_status(Lsn /*written*/, Lsn flushed, Lsn /*applied*/, PgTime /*now*/, bool /*reply_requested*/) {
  if (lost_) return false;
  server_.take_status(flushed);
  return true;
}

}  // namespace walrelay::test
