#pragma once
// librdkafka's handles and settings, as the fixtures use them. Internal to tests/support.

#include <librdkafka/rdkafka.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace walrelay::test {

struct KafkaFree {
  void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
  void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
  void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
  void operator()(rd_kafka_NewTopic_t* topic) const { rd_kafka_NewTopic_destroy(topic); }
  void operator()(rd_kafka_topic_partition_list_t* list) const { rd_kafka_topic_partition_list_destroy(list); }
  void operator()(const rd_kafka_metadata_t* metadata) const { rd_kafka_metadata_destroy(metadata); }
};

template <typename Handle>
using KafkaHandle = std::unique_ptr<Handle, KafkaFree>;

using KafkaProperties = std::vector<std::pair<std::string, std::string>>;

// Errors: std::runtime_error naming the property.
[[nodiscard]] KafkaHandle<rd_kafka_t> kafka_client(rd_kafka_type_t type, const std::string& broker,
                                                   const KafkaProperties& properties = {});

// Of one topic, or of everything if it is "". Null if no broker answers in time.
[[nodiscard]] KafkaHandle<const rd_kafka_metadata_t> kafka_metadata(rd_kafka_t* client, const std::string& topic = "");

// How many brokers the cluster has at present; 0 if none answers.
[[nodiscard]] int brokers_known(rd_kafka_t* client);

// The number of partitions of a topic that has a leader for each of them; 0 otherwise.
[[nodiscard]] int ready_partitions(rd_kafka_t* client, const std::string& topic);

}  // namespace walrelay::test
