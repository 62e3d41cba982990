#pragma once
// The size that a broker compares with a topic's max.message.bytes, for one uncompressed record that is a batch of its
// own. Source: Apache Kafka documentation, "Message Format" (record batch, magic 2).

#include <bit>
#include <cstddef>
#include <cstdint>

#include "decoder/outbox_event.h"

namespace walrelay {

// Bytes of a length as a zig-zag variable-length number.
[[nodiscard]] constexpr std::size_t kafka_varint_size(std::size_t length) {
  return (static_cast<std::size_t>(std::bit_width((std::uint64_t{length} << 1U) | 1U)) + 6) / 7;
}

// NULL is the length -1 and no bytes.
[[nodiscard]] constexpr std::size_t kafka_bytes_size(const NullableBytes& bytes) {
  return bytes ? kafka_varint_size(bytes->size()) + bytes->size() : 1;
}

[[nodiscard]] constexpr std::size_t kafka_batch_size(const OutboxEvent& event) {
  constexpr std::size_t kBatchHeader = 61;
  constexpr std::size_t kAttributesAndDeltas = 3;  // one byte each: attributes, time delta 0, offset delta 0
  std::size_t body = kAttributesAndDeltas + kafka_bytes_size(event.key) + kafka_bytes_size(event.value) +
                     kafka_varint_size(event.headers.size());
  for (const auto& header : event.headers) body += kafka_bytes_size(header.name) + kafka_bytes_size(header.value);
  return kBatchHeader + kafka_varint_size(body) + body;
}

}  // namespace walrelay
