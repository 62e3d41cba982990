#pragma once
// Between the frontier and the status policy: a position may be confirmed once a progress record that covers it has
// been acknowledged. Decides when a record is due; one is under way at a time. Without records it lets everything
// through. Pure; thread: the loop thread.

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "connector/clock.h"
#include "connector/invariant.h"
#include "connector/progress_record.h"

namespace walrelay {

class ProgressGate {
 public:
  // Between two records while events are delivered, and while the frontier only follows an idle stream.
  static constexpr Duration kEventsInterval = std::chrono::milliseconds(100);
  static constexpr Duration kIdleInterval = std::chrono::seconds(1);
  static constexpr Duration kRetry = std::chrono::milliseconds(10);  // after the sink had no room for it

  // Without records.
  ProgressGate() = default;
  // `last`: the record as it is stored; or, with `stored` false, the one to begin with, which is written at once. Up to
  // its position may be confirmed in either case.
  ProgressGate(ProgressRecord last, bool stored) : recorded_(std::move(last)), keeps_(true), first_due_(!stored) {
    if (!stored) floor_ = std::exchange(recorded_.position, Lsn{});
  }

  [[nodiscard]] bool keeps_records() const { return keeps_; }

  // The frontier is at `position`, the last delivered commit at or before it is `commit` (none: not since the start).
  void reached(Lsn position, const std::optional<CommitMark>& commit) {
    if (!keeps_) return;
    reached_ = position;
    if (commit && commit != recorded_.commit) commit_ = commit;
  }
  // What is reached is to be recorded at once.
  void hurry() { hurry_ = true; }

  // When the next record is due; nothing while none is, or while one is under way.
  [[nodiscard]] std::optional<Instant> due() const {
    if (!keeps_ || under_way_ || reached_ <= recorded_.position) return std::nullopt;
    if (retry_at_) return retry_at_;
    if (first_due_ || hurry_) return Instant{};
    return written_at_ + (commit_ ? kEventsInterval : kIdleInterval);
  }

  // The record to write now; written() follows when it is acknowledged, or postponed() if it cannot be handed over.
  [[nodiscard]] const ProgressRecord& begin(Instant now) {
    WALRELAY_INVARIANT(!under_way_ && reached_ > recorded_.position);
    under_way_ = recorded_;
    under_way_->position = std::max(reached_, floor_);
    if (commit_) under_way_->commit = commit_;
    written_at_ = now;
    retry_at_.reset();
    return *under_way_;
  }
  void postponed(Instant now) {
    under_way_.reset();
    retry_at_ = now + kRetry;
  }
  void written() {
    WALRELAY_INVARIANT(under_way_.has_value());
    recorded_ = std::move(*under_way_);
    under_way_.reset();
    first_due_ = false;
    if (commit_ == recorded_.commit) commit_.reset();
    if (reached_ <= recorded_.position) hurry_ = false;
  }

  // How far may be confirmed, of what is reached.
  [[nodiscard]] Lsn confirmable(Lsn frontier) const {
    return keeps_ ? std::min(frontier, std::max(floor_, recorded_.position)) : frontier;
  }
  // Whether a record is missing for what is reached.
  [[nodiscard]] bool behind() const { return keeps_ && reached_ > recorded_.position; }
  // The last delivered commit that no record has yet.
  [[nodiscard]] const std::optional<CommitMark>& unrecorded_commit() const { return commit_; }

 private:
  ProgressRecord recorded_;
  bool keeps_ = false;
  bool first_due_ = false;
  bool hurry_ = false;
  Lsn floor_;  // may be confirmed without a record
  Lsn reached_;
  std::optional<CommitMark> commit_;  // delivered, and not in the stored record
  std::optional<ProgressRecord> under_way_;
  Instant written_at_{};
  std::optional<Instant> retry_at_;
};

}  // namespace walrelay
