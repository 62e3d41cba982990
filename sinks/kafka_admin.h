#pragma once
// What `check` wants to know of the brokers. Blocking: for commands, not for the relay's loop.

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sinks/kafka_options.h"

namespace walrelay {

struct KafkaTopicReport {
  std::string name;
  bool exists = false;
  int partitions = 0;
  std::string problem;  // why it cannot be used, with the remedy; "" if it can, or if it does not exist
  // Unknown without the right DESCRIBE_CONFIGS.
  std::optional<std::size_t> max_message_bytes;
  std::optional<std::string> cleanup_policy;
};

struct KafkaReport {
  std::string unreachable;           // why no broker answered, naming them; "" if one did
  std::string remedy;                // for that
  std::vector<std::string> brokers;  // host:port of each
  std::optional<bool>
      auto_create_topics;  // whether brokers make missing topics; unknown without the right DESCRIBE_CONFIGS
  std::optional<std::size_t> max_message_bytes;  // of topics that say nothing else; unknown without that right
  std::vector<KafkaTopicReport> topics;          // as asked for, in that order
};

// Creates nothing. Returns after `at_most`, a second later in the worst case. Throws SinkConfigError as
// make_kafka_conf() does.
[[nodiscard]] KafkaReport inspect_kafka(const KafkaProperties& properties, std::span<const std::string> topics,
                                        std::chrono::milliseconds at_most);

}  // namespace walrelay
