#pragma once
// An outbox row after mapping: what a sink publishes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "decoder/lsn.h"

namespace walrelay {

// NULL and empty differ: a NULL key is "no key", a NULL value a tombstone.
using NullableBytes = std::optional<std::string_view>;

inline std::size_t size_of(const NullableBytes& bytes) { return bytes ? bytes->size() : 0; }

struct EventHeader {
  std::string_view name;
  NullableBytes value;
};

// A view: everything it points to belongs to the router and to the frame that was routed, and is valid until the next
// call of the router or the next frame, whichever comes first. A sink copies what it keeps.
struct OutboxEvent {
  std::size_t outbox = 0;  // index of the [[outbox]] it came from
  std::string_view topic;
  NullableBytes key;
  NullableBytes value;
  std::span<const EventHeader> headers;  // the id header first, where one is sent
  std::string_view id;                   // for messages to people; empty where the outbox has none
  std::int64_t timestamp_ms = 0;         // milliseconds since 1970-01-01 UTC; never 0 (librdkafka takes 0 for "now")
  bool timestamp_replaced = false;   // the row's time was NULL, infinite or out of range: the commit's time was taken
  bool invalid_traceparent = false;  // it has a header traceparent that no tracer would take
  Lsn commit_lsn;           // of its transaction, as Begin has it (end LSNs come only with Commit); filled by the relay
  std::uint64_t index = 0;  // of the event in its transaction, from 0; filled by the relay
};

}  // namespace walrelay
