#pragma once
// Owners of librdkafka's handles.
//
// rd_kafka_destroy() waits for ever for an object that is still alive (librdkafka, INTRODUCTION.md, "Termination"): in
// a class the client is declared first, then its queue, then topics and what keeps events (which own their messages),
// so that they go in the reverse order.

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <memory>

namespace walrelay {

struct KafkaFree {
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
  void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
  void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
  void operator()(rd_kafka_headers_t* headers) const { rd_kafka_headers_destroy(headers); }
  void operator()(rd_kafka_error_t* error) const { rd_kafka_error_destroy(error); }
  void operator()(rd_kafka_AdminOptions_t* options) const { rd_kafka_AdminOptions_destroy(options); }
  void operator()(rd_kafka_NewTopic_t* topic) const { rd_kafka_NewTopic_destroy(topic); }
  void operator()(rd_kafka_ConfigResource_t* resource) const { rd_kafka_ConfigResource_destroy(resource); }
  void operator()(const rd_kafka_metadata_t* metadata) const { rd_kafka_metadata_destroy(metadata); }
  void operator()(rd_kafka_t* client) const {
    // What is not delivered yet is given up; without this, destroying would wait for requests in flight.
    rd_kafka_purge(client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
    rd_kafka_destroy(client);
  }
};

using KafkaClientHandle = std::unique_ptr<rd_kafka_t, KafkaFree>;
using KafkaConfHandle = std::unique_ptr<rd_kafka_conf_t, KafkaFree>;
using KafkaQueueHandle = std::unique_ptr<rd_kafka_queue_t, KafkaFree>;
using KafkaTopicHandle = std::unique_ptr<rd_kafka_topic_t, KafkaFree>;
using KafkaEventHandle = std::unique_ptr<rd_kafka_event_t, KafkaFree>;
using KafkaHeadersHandle = std::unique_ptr<rd_kafka_headers_t, KafkaFree>;
using KafkaErrorHandle = std::unique_ptr<rd_kafka_error_t, KafkaFree>;
using KafkaAdminOptionsHandle = std::unique_ptr<rd_kafka_AdminOptions_t, KafkaFree>;
using KafkaNewTopicHandle = std::unique_ptr<rd_kafka_NewTopic_t, KafkaFree>;
using KafkaConfigResourceHandle = std::unique_ptr<rd_kafka_ConfigResource_t, KafkaFree>;
using KafkaMetadataHandle = std::unique_ptr<const rd_kafka_metadata_t, KafkaFree>;

// The eventfd becomes readable when something comes into the empty queue.
inline void wake_up_by(int eventfd, rd_kafka_queue_t* queue) {
  constexpr std::uint64_t kOne = 1;
  rd_kafka_queue_io_event_enable(queue, eventfd, &kOne, sizeof kOne);  // which copies it
}

}  // namespace walrelay
