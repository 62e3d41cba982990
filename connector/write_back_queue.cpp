#include "connector/write_back_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connector/invariant.h"
#include "connector/postgres/pg_quote.h"
#include "decoder/failure_class.h"

namespace walrelay {

// What is under way cannot be called back. Writing it is right, and until then it holds nothing back.
void WriteBackQueue::restart(Lsn confirmed) {
  covered_.clear();
  in_flight_.clear();
  due_.clear();
  rows_due_ = under_way_ ? under_way_->rows : 0;
  failures_due_ = under_way_ && under_way_->kind == WriteBackBatch::Kind::failed ? 1 : 0;
  if (under_way_) under_way_->before = confirmed;
  settled_ = confirmed;
  hurry_ = false;
}

void WriteBackQueue::add(std::deque<Row>& rows, std::size_t outbox, const TransactionStart& transaction,
                         std::string_view id) {
  if (id.empty()) return;
  WALRELAY_INVARIANT(rows.empty() || rows.back().commit_lsn <= transaction.commit_lsn);
  rows.push_back({.id = std::string(id),
                  .commit_lsn = transaction.commit_lsn,
                  .commit_time = transaction.commit_time,
                  .writer = transaction.xid,
                  .outbox = static_cast<std::uint32_t>(outbox),
                  .covered = &rows == &covered_});
}

void WriteBackQueue::covered(std::size_t outbox, const TransactionStart& transaction, std::string_view id) {
  if (!wants_covered(outbox)) return;
  WALRELAY_INVARIANT(in_flight_.empty());
  add(covered_, outbox, transaction, id);
  if (covered_.size() > rows_max_) covered_.pop_front();
}

void WriteBackQueue::failed(std::size_t outbox, const TransactionStart& transaction, std::string_view id,
                            const Rejection& rejection, Instant now) {
  if (id.empty()) return;
  withdraw(outbox, transaction.commit_lsn, id);
  if (!uses_[outbox].failed) return;
  due_.push_back({.kind = WriteBackBatch::Kind::failed,
                  .outbox = outbox,
                  .ids = std::string(id),
                  .rows = 1,
                  .writers = {transaction.xid},
                  .reason = fmt::format("{}: {}", to_string(rejection.failure_class), rejection.reason),
                  .before = settled_,
                  .commit_time = transaction.commit_time,
                  .since = now});
  ++rows_due_;
  ++failures_due_;
}

void WriteBackQueue::withdraw(std::size_t outbox, Lsn commit_lsn, std::string_view id) {
  auto row = std::lower_bound(in_flight_.begin(), in_flight_.end(), commit_lsn,
                              [](const Row& r, Lsn lsn) { return r.commit_lsn < lsn; });
  for (; row != in_flight_.end() && row->commit_lsn == commit_lsn; ++row) {
    if (row->failed || row->outbox != outbox || row->id != id) continue;
    row->failed = true;
    return;
  }
}

void WriteBackQueue::settled(Lsn frontier, Instant now) {
  // A transaction ends behind its commit record, and the frontier stands at ends: beyond the one it is at the other.
  while (!in_flight_.empty() && in_flight_.front().commit_lsn < frontier) {
    make_due(in_flight_.front(), now);
    in_flight_.pop_front();
  }
  if (covered_.empty()) settled_ = std::max(settled_, frontier);
}

void WriteBackQueue::all_settled(Instant now) {
  for (const auto& row : in_flight_) make_due(row, now);
  in_flight_.clear();
}

void WriteBackQueue::make_due(const Row& row, Instant now) {
  if (row.failed) return;
  WriteBackBatch& batch = batch_for(row, now);
  append_array_element(batch.ids, row.id);
  if (batch.writers.empty() || batch.writers.back() != row.writer) batch.writers.push_back(row.writer);
  ++batch.rows;
  ++rows_due_;
}

WriteBackBatch& WriteBackQueue::batch_for(const Row& row, Instant now) {
  const auto kind = row.covered ? WriteBackBatch::Kind::covered : WriteBackBatch::Kind::delivered;
  const auto open = std::find_if(due_.rbegin(), due_.rend(), [&](const WriteBackBatch& batch) {
    return batch.kind == kind && batch.outbox == row.outbox;
  });
  const bool has_room = open != due_.rend() && open->rows < kBatchRowsMax && open->ids.size() < kBatchBytesMax &&
                        open->rows_written == 0 && !open->visible;
  if (has_room) return *open;
  return due_.emplace_back(WriteBackBatch{.kind = kind,
                                          .outbox = row.outbox,
                                          .ids = "{}",
                                          .writers = {},
                                          .reason = {},
                                          .before = settled_,
                                          .commit_time = row.commit_time,
                                          .since = now});
}

Lsn WriteBackQueue::confirmable(Lsn position) const {
  Lsn limit = covered_.empty() ? position : std::min(position, settled_);
  if (!in_flight_.empty() && in_flight_.front().commit_lsn < position) limit = std::min(limit, settled_);
  if (!due_.empty()) limit = std::min(limit, due_.front().before);
  if (under_way_) limit = std::min(limit, under_way_->before);
  return limit;
}

std::optional<PgTime> WriteBackQueue::oldest_commit() const {
  if (under_way_) return under_way_->commit_time;
  return due_.empty() ? std::nullopt : std::optional(due_.front().commit_time);
}

std::optional<Instant> WriteBackQueue::due() const {
  if (due_.empty() || under_way_) return std::nullopt;
  const WriteBackBatch& oldest = due_.front();
  const bool at_once = hurry_ || failures_due_ > 0 || full() || oldest.rows >= kBatchRowsMax;
  return at_once ? oldest.since : oldest.since + kBatchDelay;
}

WriteBackBatch& WriteBackQueue::begin() {
  WALRELAY_INVARIANT(!under_way_ && !due_.empty());
  under_way_ = std::move(due_.front());
  due_.pop_front();
  return *under_way_;
}

void WriteBackQueue::finished() {
  WALRELAY_INVARIANT(under_way_.has_value());
  rows_due_ -= under_way_->rows;
  if (under_way_->kind == WriteBackBatch::Kind::failed) --failures_due_;
  under_way_.reset();
  if (idle()) hurry_ = false;
}

void WriteBackQueue::put_back() {
  WALRELAY_INVARIANT(under_way_.has_value());
  due_.push_front(std::move(*under_way_));
  under_way_.reset();
}

}  // namespace walrelay
