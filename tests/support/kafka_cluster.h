#pragma once
// Three real Kafkas that are one cluster: what a relay meets in production.

#include <memory>
#include <string>
#include <vector>

#include "tests/support/kafka_broker.h"

namespace walrelay::test {

// Each node is broker and controller; topics have three replicas, of which two have to be in sync. A broker that is
// gone is given up after three seconds. A start takes about ten seconds. Errors: std::runtime_error with the log.
class KafkaCluster {
 public:
  KafkaCluster();

  [[nodiscard]] std::string address() const;  // for bootstrap.servers: all of them
  [[nodiscard]] KafkaBroker& node(int number) { return *nodes_.at(static_cast<std::size_t>(number) - 1); }  // 1, 2, 3
  void pause();

  // The nodes that have the partition, in the order in which they come to lead it: the first that lives and is in sync.
  [[nodiscard]] std::vector<int> replicas(const std::string& topic, int partition) const;

 private:
  void launch();
  [[nodiscard]] bool wait_started();

  std::vector<std::unique_ptr<KafkaBroker>> nodes_;
};

}  // namespace walrelay::test
