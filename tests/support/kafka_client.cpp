#include "tests/support/kafka_client.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

namespace walrelay::test {
namespace {

constexpr int kMetadataTimeoutMs = 2'000;

void set(rd_kafka_conf_t* configuration, const std::string& name, const std::string& value) {
  std::array<char, 512> error{};
  if (rd_kafka_conf_set(configuration, name.c_str(), value.c_str(), error.data(), error.size()) != RD_KAFKA_CONF_OK) {
    throw std::runtime_error(fmt::format("{} = {}: {}", name, value, error.data()));
  }
}

}  // namespace

KafkaHandle<rd_kafka_t> kafka_client(rd_kafka_type_t type, const std::string& broker,
                                     const KafkaProperties& properties) {
  rd_kafka_conf_t* configuration = rd_kafka_conf_new();
  set(configuration, "bootstrap.servers", broker);
  set(configuration, "reconnect.backoff.max.ms", "500");
  for (const auto& [name, value] : properties) set(configuration, name, value);
  rd_kafka_conf_set_log_cb(configuration, [](const rd_kafka_t*, int, const char*, const char*) {});
  std::array<char, 512> error{};
  KafkaHandle<rd_kafka_t> client(rd_kafka_new(type, configuration, error.data(), error.size()));
  if (!client) throw std::runtime_error(error.data());
  return client;
}

KafkaHandle<const rd_kafka_metadata_t> kafka_metadata(rd_kafka_t* client, const std::string& topic) {
  const KafkaHandle<rd_kafka_topic_t> handle(topic.empty() ? nullptr
                                                           : rd_kafka_topic_new(client, topic.c_str(), nullptr));
  const rd_kafka_metadata_t* raw = nullptr;
  const auto error = rd_kafka_metadata(client, 0, handle.get(), &raw, kMetadataTimeoutMs);
  return KafkaHandle<const rd_kafka_metadata_t>(error == RD_KAFKA_RESP_ERR_NO_ERROR ? raw : nullptr);
}

int brokers_known(rd_kafka_t* client) {
  const auto metadata = kafka_metadata(client);
  return metadata ? metadata->broker_cnt : 0;
}

int ready_partitions(rd_kafka_t* client, const std::string& topic) {
  const auto metadata = kafka_metadata(client, topic);
  if (!metadata || metadata->topic_cnt != 1 || metadata->topics[0].err != RD_KAFKA_RESP_ERR_NO_ERROR) return 0;
  const auto& found = metadata->topics[0];
  for (int i = 0; i < found.partition_cnt; ++i) {
    if (found.partitions[i].leader < 0) return 0;
  }
  return found.partition_cnt;
}

}  // namespace walrelay::test
