#pragma once
// What the tests of KafkaSink share.

#include <string>
#include <string_view>
#include <vector>

#include "sinks/kafka_sink.h"
#include "tests/support/catch.h"
#include "tests/support/mock_cluster.h"
#include "tests/support/sink_driver.h"

namespace walrelay::test {

inline OutboxEvent event_of(std::string_view topic, NullableBytes key, NullableBytes value) {
  OutboxEvent event;
  event.topic = topic;
  event.key = key;
  event.value = value;
  event.timestamp_ms = 1'700'000'000'123;
  return event;
}

inline KafkaSinkOptions options_for(const MockCluster& cluster) {
  KafkaSinkOptions options;
  options.properties = {{"bootstrap.servers", cluster.bootstrap_servers()}};
  return options;
}

// Publishes one event, so that later ones find the topic settled and the connection up.
inline void warm_up(SinkDriver& driver, std::string_view topic) {
  REQUIRE(driver.submit(event_of(topic, "warm", "up"), 999) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(1));
  REQUIRE(driver.deliveries[0].status == DeliveryStatus::persisted);
  driver.deliveries.clear();
}

// The values of the records with this key, in order.
inline std::vector<std::string> values_of(const std::vector<KafkaRecord>& records, std::string_view key) {
  std::vector<std::string> values;
  for (const auto& record : records) {
    if (record.key == key) values.push_back(record.value.value_or("NULL"));
  }
  return values;
}

}  // namespace walrelay::test
