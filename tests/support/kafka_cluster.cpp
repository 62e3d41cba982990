#include "tests/support/kafka_cluster.h"

#include <algorithm>
#include <stdexcept>

#include "tests/support/free_port.h"
#include "tests/support/kafka_client.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr int kNodes = 3;
constexpr int kStartsMax = 3;  // a port may be taken by somebody else
constexpr milliseconds kTogetherMax = seconds(30);

const ServerSettings kClusterSettings = {
    {"default.replication.factor", "3"},
    {"min.insync.replicas", "2"},
    {"broker.session.timeout.ms", "3000"},
    {"broker.heartbeat.interval.ms", "500"},
};

}  // namespace

KafkaCluster::KafkaCluster() {
  for (int start = 0; start < kStartsMax; ++start) {
    launch();
    if (wait_started()) return;
  }
  throw std::runtime_error("a Kafka cluster does not start; its first node:\n" + node(1).log());
}

void KafkaCluster::launch() {
  std::vector<std::uint16_t> controllers;
  for (int i = 0; i < kNodes; ++i) controllers.push_back(free_port());
  nodes_.clear();
  for (int i = 1; i <= kNodes; ++i) nodes_.push_back(std::make_unique<KafkaBroker>(i, controllers, kClusterSettings));
}

bool KafkaCluster::wait_started() {
  const bool up = std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->wait_started(); });
  if (!up) return false;
  const auto client = kafka_client(RD_KAFKA_PRODUCER, address());
  return wait_until(kTogetherMax, [&] { return brokers_known(client.get()) == kNodes; });
}

std::string KafkaCluster::address() const {
  std::string list;
  for (const auto& node : nodes_) list += (list.empty() ? "" : ",") + node->address();
  return list;
}

void KafkaCluster::pause() {
  for (auto& node : nodes_) node->pause();
}

std::vector<int> KafkaCluster::replicas(const std::string& topic, int partition) const {
  const auto client = kafka_client(RD_KAFKA_PRODUCER, address());
  const auto metadata = kafka_metadata(client.get(), topic);
  if (!metadata || metadata->topic_cnt != 1 || metadata->topics[0].partition_cnt <= partition) return {};
  const auto& found = metadata->topics[0].partitions[partition];
  return {found.replicas, found.replicas + found.replica_cnt};
}

}  // namespace walrelay::test
