#pragma once
// One record on its way into a producer.

#include <librdkafka/rdkafka.h>

#include <cstdint>

#include "decoder/outbox_event.h"
#include "sinks/kafka_handles.h"
#include "sinks/sink.h"

namespace walrelay {

// A tag travels as librdkafka's opaque.
[[nodiscard]] inline void* kafka_opaque(Tag tag) {
  static_assert(sizeof(Tag) == sizeof(void*));
  return reinterpret_cast<void*>(tag);  // NOLINT(performance-no-int-to-ptr): never dereferenced
}
[[nodiscard]] inline Tag kafka_tag(const rd_kafka_message_t& message) {
  return reinterpret_cast<Tag>(message._private);
}

// librdkafka tells NULL from empty by the pointer, and an empty view may have none. It only reads what is copied.
[[nodiscard]] inline void* kafka_bytes(const NullableBytes& bytes) {
  if (!bytes) return nullptr;
  return const_cast<char*>(bytes->empty() ? "" : bytes->data());
}

// Views and handles of the caller's; what is sent is copied.
struct KafkaRecord {
  rd_kafka_topic_t* topic = nullptr;
  std::int32_t partition = RD_KAFKA_PARTITION_UA;  // that: by the key
  NullableBytes key;
  NullableBytes value;
  std::int64_t timestamp_ms = 0;
  void* opaque = nullptr;  // handed back with its delivery report
};

// Takes the headers only if there is no error.
[[nodiscard]] rd_kafka_resp_err_t produce_record(rd_kafka_t* client, const KafkaRecord& record,
                                                 KafkaHeadersHandle headers);

}  // namespace walrelay
