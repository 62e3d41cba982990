#pragma once
// A source that gives the frames it was handed, and remembers the status updates.

#include <deque>
#include <string>
#include <vector>

#include "connector/source.h"

namespace walrelay::test {

struct SentStatus {
  Lsn written;
  Lsn flushed;
  Lsn applied;
  bool reply_requested = false;
};

class ScriptedSource final : public Source {
 public:
  void add(std::string frame) { frames_.push_back(std::move(frame)); }
  void close(SourceEnd why) { closing_ = why; }
  [[nodiscard]] std::size_t unread() const { return frames_.size(); }
  [[nodiscard]] const std::vector<SentStatus>& sent() const { return sent_; }

  ReceiveStatus receive(std::string_view& frame) override {
    if (frames_.empty()) {
      end_ = closing_;
      return end_ == SourceEnd::none ? ReceiveStatus::nothing_yet : ReceiveStatus::ended;
    }
    current_ = std::move(frames_.front());  // the last frame's bytes are gone, as with a real source
    frames_.pop_front();
    frame = current_;
    return ReceiveStatus::frame;
  }
  [[nodiscard]] SourceEnd end() const override { return end_; }
  [[nodiscard]] const SourceError& error() const override { return error_; }
  bool send_status(Lsn written, Lsn flushed, Lsn applied, PgTime /*now*/, bool reply_requested) override {
    sent_.push_back({written, flushed, applied, reply_requested});
    return true;
  }
  [[nodiscard]] int descriptor() const override { return -1; }
  [[nodiscard]] bool wants_write() const override { return false; }

 private:
  std::deque<std::string> frames_;
  std::string current_;
  std::vector<SentStatus> sent_;
  SourceEnd closing_ = SourceEnd::none;
  SourceEnd end_ = SourceEnd::none;
  SourceError error_;
};

}  // namespace walrelay::test
