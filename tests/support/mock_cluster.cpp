#include "tests/support/mock_cluster.h"

#include <array>
#include <stdexcept>

namespace walrelay::test {
namespace {

constexpr std::int16_t kProduce = 0;  // of the protocol's requests

rd_kafka_t* new_client(rd_kafka_type_t type, std::initializer_list<std::pair<const char*, const char*>> properties) {
  std::array<char, 512> reason{};
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  for (const auto& [name, value] : properties) {
    if (rd_kafka_conf_set(conf, name, value, reason.data(), reason.size()) != RD_KAFKA_CONF_OK) {
      rd_kafka_conf_destroy(conf);
      throw std::runtime_error(reason.data());
    }
  }
  rd_kafka_t* client = rd_kafka_new(type, conf, reason.data(), reason.size());
  if (client == nullptr) throw std::runtime_error(reason.data());
  return client;
}

std::optional<std::string> copy(const void* data, std::size_t size) {
  if (data == nullptr) return std::nullopt;
  return std::string(static_cast<const char*>(data), size);
}

KafkaRecord to_record(const rd_kafka_message_t& message) {
  KafkaRecord record{message.partition, copy(message.key, message.key_len), copy(message.payload, message.len), {}, 0};
  rd_kafka_timestamp_type_t type{};
  record.timestamp_ms = rd_kafka_message_timestamp(&message, &type);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return record;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    record.headers.emplace_back(name, copy(value, size));
  }
  return record;
}

}  // namespace

MockCluster::MockCluster(int brokers)
    : client_(new_client(RD_KAFKA_PRODUCER, {{"client.id", "mock"}})),
      cluster_(rd_kafka_mock_cluster_new(client_, brokers)) {
  if (cluster_ == nullptr) throw std::runtime_error("no mock cluster");
}

MockCluster::~MockCluster() {
  rd_kafka_mock_cluster_destroy(cluster_);
  rd_kafka_destroy(client_);
}

void MockCluster::create_topic(const std::string& name, int partitions) const {
  const auto error = rd_kafka_mock_topic_create(cluster_, name.c_str(), partitions, 1);
  // Before librdkafka 2.8 it makes a topic when a client asks for it.
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR && error != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
    throw std::runtime_error("cannot create topic " + name);
  }
}

void MockCluster::fail_produce(std::initializer_list<rd_kafka_resp_err_t> errors) const {
  rd_kafka_mock_push_request_errors_array(cluster_, kProduce, errors.size(), errors.begin());
}

void MockCluster::fail_produce_of(int broker, rd_kafka_resp_err_t error, int milliseconds) const {
  rd_kafka_mock_broker_push_request_error_rtts(cluster_, broker, kProduce, 1, error, milliseconds);
}

void MockCluster::fail_metadata(const std::string& topic, rd_kafka_resp_err_t error) const {
  rd_kafka_mock_topic_set_error(cluster_, topic.c_str(), error);
}

std::vector<KafkaRecord> read_topic(const std::string& bootstrap_servers, const std::string& topic, int partitions) {
  rd_kafka_t* consumer = new_client(RD_KAFKA_CONSUMER, {{"bootstrap.servers", bootstrap_servers.c_str()},
                                                        {"group.id", "reader"},
                                                        {"enable.auto.commit", "false"},
                                                        {"enable.partition.eof", "true"},
                                                        {"auto.offset.reset", "earliest"}});
  rd_kafka_topic_partition_list_t* wanted = rd_kafka_topic_partition_list_new(partitions);
  for (int p = 0; p < partitions; ++p) rd_kafka_topic_partition_list_add(wanted, topic.c_str(), p)->offset = 0;
  rd_kafka_assign(consumer, wanted);
  rd_kafka_topic_partition_list_destroy(wanted);
  std::vector<std::vector<KafkaRecord>> by_partition(static_cast<std::size_t>(partitions));
  constexpr int kPatience = 20'000;  // ms without anything from the broker
  for (int ended = 0; ended < partitions;) {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(consumer, kPatience);
    if (message == nullptr) break;
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) ++ended;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      by_partition[static_cast<std::size_t>(message->partition)].push_back(to_record(*message));
    }
    rd_kafka_message_destroy(message);
  }
  rd_kafka_consumer_close(consumer);
  rd_kafka_destroy(consumer);
  std::vector<KafkaRecord> records;
  for (auto& part : by_partition) records.insert(records.end(), part.begin(), part.end());
  return records;
}

}  // namespace walrelay::test
