#pragma once
// librdkafka's mock cluster as a broker for tests (rdkafka_mock.h): real connections on free ports of 127.0.0.1, no
// Kafka.

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace walrelay::test {

struct KafkaRecord {
  std::int32_t partition = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  std::int64_t timestamp_ms = 0;
};

class MockCluster {
 public:
  explicit MockCluster(int brokers = 1);
  ~MockCluster();
  MockCluster(const MockCluster&) = delete;
  MockCluster& operator=(const MockCluster&) = delete;

  [[nodiscard]] std::string bootstrap_servers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  void create_topic(const std::string& name, int partitions) const;
  // The next produce requests are answered with these.
  void fail_produce(std::initializer_list<rd_kafka_resp_err_t> errors) const;
  // The next one to this broker is, after that time.
  void fail_produce_of(int broker, rd_kafka_resp_err_t error, int milliseconds) const;
  void fail_metadata(const std::string& topic, rd_kafka_resp_err_t error) const;
  void set_leader(const std::string& topic, int partition, int broker) const {
    rd_kafka_mock_partition_set_leader(cluster_, topic.c_str(), partition, broker);
  }
  void set_down(int broker) const { rd_kafka_mock_broker_set_down(cluster_, broker); }
  void set_up(int broker) const { rd_kafka_mock_broker_set_up(cluster_, broker); }
  void set_round_trip(int broker, int milliseconds) const {
    rd_kafka_mock_broker_set_rtt(cluster_, broker, milliseconds);
  }

 private:
  rd_kafka_t* client_ = nullptr;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
};

// Everything the topic's partitions hold, partition by partition, in order.
[[nodiscard]] std::vector<KafkaRecord> read_topic(const std::string& bootstrap_servers, const std::string& topic,
                                                  int partitions);

}  // namespace walrelay::test
