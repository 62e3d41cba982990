// KafkaSink against librdkafka's mock cluster: what is published, and when it counts as delivered.

#include "sinks/kafka_sink.h"

#include "tests/support/catch.h"
#include "tests/support/mock_cluster.h"
#include "tests/support/sink_driver.h"

namespace walrelay::test {
namespace {

OutboxEvent event_of(std::string_view topic, NullableBytes key, NullableBytes value) {
  OutboxEvent event;
  event.topic = topic;
  event.key = key;
  event.value = value;
  event.timestamp_ms = 1'700'000'000'123;
  return event;
}

KafkaSinkOptions options_for(const MockCluster& cluster) {
  KafkaSinkOptions options;
  options.properties = {{"bootstrap.servers", cluster.bootstrap_servers()}};
  return options;
}

}  // namespace

TEST_CASE("a published event has the key, value, headers and time it was given") {
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  const EventHeader headers[] = {{"id", "42"}, {"none", std::nullopt}, {"empty", ""}, {"id", "again"}};
  OutboxEvent event = event_of("orders", "k", "v");
  event.headers = headers;
  REQUIRE(driver.submit(event, 7) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(1));
  CHECK(driver.deliveries[0].tag == 7);
  CHECK(driver.deliveries[0].status == DeliveryStatus::persisted);

  const auto records = read_topic(cluster.bootstrap_servers(), "orders", 1);
  REQUIRE(records.size() == 1);
  CHECK(records[0].key == "k");
  CHECK(records[0].value == "v");
  CHECK(records[0].timestamp_ms == 1'700'000'000'123);
  const std::vector<std::pair<std::string, std::optional<std::string>>> expected = {
      {"id", "42"}, {"none", std::nullopt}, {"empty", ""}, {"id", "again"}};
  CHECK(records[0].headers == expected);
}

TEST_CASE("NULL and empty keys and values arrive as what they are") {
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  // An empty view without a pointer is an empty value too.
  const NullableBytes variants[] = {std::nullopt, "", std::string_view{}, "x"};
  Tag tag = 0;
  for (const auto& key : variants) {
    for (const auto& value : variants)
      REQUIRE(driver.submit(event_of("orders", key, value), tag++) == SubmitStatus::accepted);
  }
  REQUIRE(driver.run_until_collected(tag));
  const auto records = read_topic(cluster.bootstrap_servers(), "orders", 1);
  REQUIRE(records.size() == tag);
  std::size_t i = 0;
  for (const auto& key : variants) {
    for (const auto& value : variants) {
      CAPTURE(i);
      CHECK(records[i].key == (key ? std::optional<std::string>(*key) : std::nullopt));
      CHECK(records[i].value == (value ? std::optional<std::string>(*value) : std::nullopt));
      ++i;
    }
  }
}

}  // namespace walrelay::test
