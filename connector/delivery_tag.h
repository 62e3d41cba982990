#pragma once
// What travels with an event through the sink (64 bits, librdkafka's opaque) and comes back with its delivery report.

#include <cstddef>
#include <cstdint>

#include "connector/ack_frontier.h"
#include "connector/invariant.h"
#include "sinks/sink.h"

namespace walrelay {

struct DeliveryTag {
  static constexpr std::uint64_t kOrdinalBits = 39;
  static constexpr std::uint64_t kOutboxBits = 12;
  static constexpr std::uint64_t kEpochBits = 11;
  static constexpr std::size_t kOutboxesMax = std::size_t{1} << kOutboxBits;
  static constexpr std::uint16_t kEpochMax = (1U << kEpochBits) - 1;

  enum class Kind : std::uint8_t {
    event,
    dead_letter,  // that stands for an event
    progress,     // record: the other fields but epoch are 0
  };

  Kind kind = Kind::event;
  std::uint16_t epoch = 0;  // which relay submitted it
  std::size_t outbox = 0;   // index of the [[outbox]]
  AckFrontier::Ordinal ordinal = 0;

  [[nodiscard]] Tag pack() const {
    WALRELAY_INVARIANT(outbox < kOutboxesMax && epoch <= kEpochMax);
    Tag packed = static_cast<Tag>(kind);
    packed = packed << kEpochBits | epoch;
    packed = packed << kOutboxBits | outbox;
    return packed << kOrdinalBits | (ordinal & low(kOrdinalBits));
  }

  // The ordinal's upper bits are those of a transaction that is not confirmed yet: `first` is the oldest of them.
  [[nodiscard]] static DeliveryTag unpack(Tag packed, AckFrontier::Ordinal first) {
    DeliveryTag tag;
    tag.ordinal = first + ((packed - first) & low(kOrdinalBits));
    packed >>= kOrdinalBits;
    tag.outbox = packed & low(kOutboxBits);
    packed >>= kOutboxBits;
    tag.epoch = static_cast<std::uint16_t>(packed & low(kEpochBits));
    tag.kind = static_cast<Kind>(packed >> kEpochBits);
    return tag;
  }

 private:
  static constexpr std::uint64_t low(std::uint64_t bits) { return (std::uint64_t{1} << bits) - 1; }
};

}  // namespace walrelay
