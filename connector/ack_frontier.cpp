#include "connector/ack_frontier.h"

#include <utility>

#include "connector/invariant.h"

namespace walrelay {

AckFrontier::AckFrontier(Lsn confirmed) : ring_(64), confirmed_(confirmed), received_(confirmed) {}

AckFrontier::Transaction& AckFrontier::at(Ordinal ordinal) {
  WALRELAY_INVARIANT(contains(ordinal));
  return ring_[ordinal & (ring_.size() - 1)];
}

const TransactionStart& AckFrontier::start_of(Ordinal ordinal) const {
  WALRELAY_INVARIANT(contains(ordinal));
  return ring_[ordinal & (ring_.size() - 1)].start;
}

AckFrontier::Ordinal AckFrontier::open(const TransactionStart& start) {
  WALRELAY_INVARIANT(!open_);
  if (size_ == ring_.size()) grow();
  ++size_;
  newest() = Transaction{.start = start, .end_lsn = {}, .commit_end = {}};
  open_ = true;
  return first_ + size_ - 1;
}

void AckFrontier::grow() {
  std::vector<Transaction> wider(ring_.size() * 2);
  for (std::uint64_t i = 0; i < size_; ++i) wider[(first_ + i) & (wider.size() - 1)] = at(first_ + i);
  ring_ = std::move(wider);
}

void AckFrontier::add() {
  WALRELAY_INVARIANT(open_);
  ++newest().records;
  ++newest().outstanding;
}

void AckFrontier::close(Lsn end_lsn) {
  WALRELAY_INVARIANT(open_);
  WALRELAY_INVARIANT(end_lsn > received_);
  open_ = false;
  received_ = end_lsn;
  Transaction& closed = newest();
  closed.end_lsn = end_lsn;
  closed.commit_end = end_lsn;
  unconfirmed_records_ += closed.records;
  // Without records there is no report to wait for: it is finished when the one before it is.
  if (closed.records == 0 && size_ > 1) {
    --size_;
    newest().end_lsn = end_lsn;
  }
  advance();
}

bool AckFrontier::settled(Ordinal ordinal) {
  Transaction& transaction = at(ordinal);
  WALRELAY_INVARIANT(transaction.outstanding > 0);
  --transaction.outstanding;
  const bool finished = transaction.outstanding == 0 && transaction.end_lsn.valid();
  advance();
  return finished;
}

void AckFrontier::keepalive(Lsn position) {
  if (!idle() || position <= confirmed_) return;
  received_ = position;
  move_confirmed(position);
}

void AckFrontier::advance() {
  Lsn finished = confirmed_;
  while (size_ > 0) {
    const Transaction& oldest = at(first_);
    if (oldest.outstanding > 0 || !oldest.end_lsn.valid()) break;
    finished = oldest.end_lsn;
    if (oldest.records > 0) {
      last_commit_ =
          CommitMark{.end_lsn = oldest.commit_end, .xid = oldest.start.xid, .time = oldest.start.commit_time};
    }
    unconfirmed_records_ -= oldest.records;
    ++first_;
    --size_;
  }
  if (finished > confirmed_) move_confirmed(finished);
  WALRELAY_INVARIANT(size_ > 0 || confirmed_ == received_);
}

void AckFrontier::move_confirmed(Lsn position) {
  WALRELAY_INVARIANT(position > confirmed_);
  WALRELAY_INVARIANT(position <= received_);
  confirmed_ = position;
}

}  // namespace walrelay
