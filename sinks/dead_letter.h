#pragma once
// The record that stands for an event which can never be delivered: the original key, value and headers, and headers
// that say what happened. Owns its bytes, as the event's are gone by the time it is sent.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/lsn.h"
#include "decoder/outbox_event.h"
#include "sinks/sink.h"

namespace walrelay {

// Where the event came from, for the walrelay-* headers.
struct EventOrigin {
  std::string outbox;  // the table, or the message prefix
  Lsn commit_lsn;
  std::uint32_t xid = 0;
  std::int64_t commit_time = 0;  // µs since 2000-01-01
};

// The event as far as it is known, owned.
[[nodiscard]] FailedEvent own_event(const OutboxEvent& event, Rejection rejection);

class DeadLetter {
 public:
  DeadLetter(FailedEvent failed, std::string topic, const EventOrigin& origin, std::size_t outbox, Tag tag);
  DeadLetter(DeadLetter&&) = default;
  DeadLetter& operator=(DeadLetter&&) = default;

  [[nodiscard]] Tag tag() const { return tag_; }
  [[nodiscard]] const FailedEvent& failed() const { return failed_; }
  // Points into this object.
  [[nodiscard]] OutboxEvent event();

 private:
  FailedEvent failed_;
  std::string topic_;
  std::size_t outbox_;
  Tag tag_;
  std::vector<EventHeader> header_views_;
};

}  // namespace walrelay
