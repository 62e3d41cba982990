#pragma once
// What the progress record says was delivered before this relay began. A server that crashed forgets confirmations, so
// its slot may stand before that: the transactions in between come again and are passed over, up to the recorded
// commit. It has to be met with the same end, xid and time: a log that goes past it without is another history.

#include <optional>

#include "connector/ack_frontier.h"

namespace walrelay {

class CoveredCommits {
 public:
  // `last`: the last one that was delivered; none if nothing has to be passed over.
  explicit CoveredCommits(std::optional<CommitMark> last) : last_(last) {}

  // Until the recorded commit has been met.
  [[nodiscard]] bool pending() const { return last_.has_value(); }
  [[nodiscard]] const std::optional<CommitMark>& last() const { return last_; }

  // The transaction whose commit record starts there was delivered.
  [[nodiscard]] bool covers(Lsn commit_lsn) const { return last_ && commit_lsn < last_->end_lsn; }

  // The log has come to this position: false if the recorded commit should have been met before it.
  [[nodiscard]] bool may_pass(Lsn position) const { return !last_ || position < last_->end_lsn; }

  // A covered transaction ended: false if it stands where the recorded one should.
  [[nodiscard]] bool ended(const CommitMark& commit) {
    if (!last_ || commit.end_lsn < last_->end_lsn) return true;
    if (commit != *last_) return false;
    last_.reset();
    return true;
  }

 private:
  std::optional<CommitMark> last_;
};

}  // namespace walrelay
