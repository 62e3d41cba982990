#pragma once
// The seam between the relay and what it publishes to.
//
// Thread: every call is made on the relay's loop thread; a sink never calls back on another one and never blocks.
// Ownership: submit() copies what it keeps of the event before it returns. Errors: a sink never throws from these
// calls. What went wrong with one event is a Delivery or a Rejection; what went wrong with the sink as a whole is
// fatal_reason().

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decoder/outbox_event.h"
#include "decoder/rejection.h"

namespace walrelay {

// Names the transaction that an event belongs to; handed back with its delivery, not looked into by a sink.
using Tag = std::uint64_t;

enum class SubmitStatus : std::uint8_t {
  accepted,  // a Delivery with this tag follows, exactly one
  full,      // not taken: submit the same event again after collect() has returned something, or the descriptor became
             // readable
  rejected,  // not taken, and never will be: see rejection()
};

enum class DeliveryStatus : std::uint8_t {
  persisted,  // the broker (or the disk) has it
  failed,     // refused for good, certainly not stored: the policy decides
  in_doubt,   // may or may not be stored; the sink is finished (fatal_reason() is set)
};

// A refused event, whole, so that a policy can send it elsewhere.
struct FailedEvent {
  Rejection rejection;
  std::string topic;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  std::int64_t timestamp_ms = 0;
};

struct Delivery {
  Tag tag = 0;
  DeliveryStatus status = DeliveryStatus::persisted;
  const FailedEvent* failed = nullptr;  // set if and only if status is failed
};

struct SinkLimits {
  std::size_t in_flight_events_max = 100'000;
  std::size_t in_flight_bytes_max = std::size_t{64} << 20U;  // keys and values; one larger event is admitted alone
};

// The progress records that a sink holds for one key, as far as it holds any.
struct StoredProgress {
  enum class State : std::uint8_t {
    unsupported,  // this sink holds none
    pending,      // being read: ask again when the descriptor is readable
    ready,        // `records`: the latest ones of the key, oldest first; empty if there is none
    refused,      // will not be answered: see `reason`
  };
  State state = State::unsupported;
  std::vector<std::string> records;
  std::string reason;  // one line with the remedy
};

class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;  // events still in flight are given up: their delivery is unknown

  [[nodiscard]] virtual SubmitStatus submit(const OutboxEvent& event, Tag tag) = 0;
  // Why the last submit() was rejected; valid until the next submit().
  [[nodiscard]] virtual const Rejection& rejection() const = 0;

  // Progress records: notes that outlive the process, by key. The first call starts reading; after an answer that is
  // not pending the next call reads anew.
  [[nodiscard]] virtual StoredProgress read_progress(std::string_view /*key*/) { return {}; }
  // Like submit(), but not subject to the limits of what is in flight. NULL removes the records of the key. Only for a
  // sink that holds them.
  [[nodiscard]] virtual SubmitStatus submit_progress(std::string_view /*key*/, NullableBytes /*record*/, Tag /*tag*/) {
    return SubmitStatus::rejected;
  }

  // Deliveries that have come in, at most `limit`; valid until the next collect(). Reports come in any order across
  // partitions. Also takes in the sink's own errors, statistics and logs.
  [[nodiscard]] virtual std::span<const Delivery> collect(std::size_t limit) = 0;

  // The failures of the last collect() cannot be dealt with: where they hold later events of their own up, those are
  // not sent any more. Without it they go on with the next collect().
  virtual void hold() {}

  // True: more events follow at once, so that what was submitted may wait a moment to go with them. False: there is
  // nothing to wait for; to be repeated as events are submitted. Without it the sink does what suits many.
  virtual void expect_more(bool /*soon*/) {}

  // Readable when collect() has something to return; -1 where submit() itself delivers.
  [[nodiscard]] virtual int descriptor() const = 0;

  [[nodiscard]] virtual std::size_t in_flight_events() const = 0;
  [[nodiscard]] virtual std::size_t in_flight_bytes() const = 0;

  // Set once the sink cannot go on: a new one has to be made, and everything past the frontier submitted again.
  [[nodiscard]] virtual std::optional<std::string> fatal_reason() const = 0;

  // Whether the other side can be reached, as far as is known; false makes /readyz red. `why` names host and reason.
  struct Health {
    bool reachable = true;
    std::string why;
  };
  [[nodiscard]] virtual Health health() const = 0;

  // For metrics; what a sink cannot tell is absent.
  struct Statistics {
    std::optional<std::size_t> queue_events;  // in the client's queues
    std::optional<std::chrono::microseconds> round_trip;
  };
  [[nodiscard]] virtual Statistics statistics() const { return {}; }
};

}  // namespace walrelay
