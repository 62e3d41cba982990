// KafkaSink against librdkafka's mock cluster: what is published, where, in which order, and how much at a time.

#include <fmt/format.h>

#include <set>

#include "tests/sinks/kafka_test_support.h"

namespace walrelay::test {

TEST_CASE("a published event has the key, value, headers and time it was given") {
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  const EventHeader headers[] = {{"id", "42"}, {"none", std::nullopt}, {"empty", ""}, {"id", "again"}};
  OutboxEvent event = event_of("orders", "k", "v");
  event.headers = headers;
  REQUIRE(driver.submit(event, 7) == SubmitStatus::accepted);
  CHECK(sink.in_flight_events() == 1);
  CHECK(sink.in_flight_bytes() == 2);
  REQUIRE(driver.run_until_collected(1));
  CHECK(driver.deliveries[0].tag == 7);
  CHECK(driver.deliveries[0].status == DeliveryStatus::persisted);
  CHECK(sink.in_flight_events() == 0);
  CHECK(sink.in_flight_bytes() == 0);

  const auto records = read_topic(cluster.bootstrap_servers(), "orders", 1);
  REQUIRE(records.size() == 1);
  CHECK(records[0].key == "k");
  CHECK(records[0].value == "v");
  CHECK(records[0].timestamp_ms == 1'700'000'000'123);
  const std::vector<std::pair<std::string, std::optional<std::string>>> expected = {
      {"id", "42"}, {"none", std::nullopt}, {"empty", ""}, {"id", "again"}};
  CHECK(records[0].headers == expected);
}

TEST_CASE("the descriptor falls silent once everything is collected, so that a loop can sleep on it") {
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  REQUIRE(driver.submit(event_of("orders", "k", "v"), 1) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(1));
  CHECK(driver.run_until([&] {
    pollfd waiting{sink.descriptor(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) == 0;
  }));
}

TEST_CASE("NULL and empty keys and values arrive as what they are") {
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  // An empty view without a pointer is an empty value too.
  const NullableBytes variants[] = {std::nullopt, "", std::string_view{}, "x"};
  const auto copy = [](const NullableBytes& bytes) {
    return bytes ? std::optional<std::string>(*bytes) : std::nullopt;
  };
  std::vector<std::pair<std::optional<std::string>, std::optional<std::string>>> sent;
  for (const auto& key : variants) {
    for (const auto& value : variants) {
      REQUIRE(driver.submit(event_of("orders", key, value), sent.size()) == SubmitStatus::accepted);
      sent.emplace_back(copy(key), copy(value));
    }
  }
  REQUIRE(driver.run_until_collected(sent.size()));
  decltype(sent) received;
  for (const auto& record : read_topic(cluster.bootstrap_servers(), "orders", 1))
    received.emplace_back(record.key, record.value);
  CHECK(received == sent);
}

TEST_CASE("events of one key arrive in the order they were submitted in, each once") {
  MockCluster cluster(3);
  cluster.create_topic("orders", 4);
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  constexpr int kKeys = 20;
  constexpr int kEventsPerKey = 500;
  std::vector<std::string> expected;
  Tag tag = 0;
  for (int n = 0; n < kEventsPerKey; ++n) {
    expected.push_back(std::to_string(n));
    for (int k = 0; k < kKeys; ++k) {
      REQUIRE(driver.submit(event_of("orders", fmt::format("key-{}", k), expected.back()), tag++) ==
              SubmitStatus::accepted);
    }
  }
  REQUIRE(driver.run_until_collected(tag));
  std::set<Tag> tags;
  for (const auto& delivery : driver.deliveries) {
    CHECK(delivery.status == DeliveryStatus::persisted);
    tags.insert(delivery.tag);
  }
  CHECK(tags.size() == tag);
  const auto records = read_topic(cluster.bootstrap_servers(), "orders", 4);
  for (int k = 0; k < kKeys; ++k) CHECK(values_of(records, fmt::format("key-{}", k)) == expected);
}

// Expected: Utils.toPositive(Utils.murmur2(key)) % 10 of kafka-clients 4.3.1, computed once.
TEST_CASE("a key goes to the partition that the Java client chooses, NULL keys are spread") {
  MockCluster cluster;
  cluster.create_topic("orders", 10);
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  const std::vector<std::pair<std::string, std::int32_t>> expected = {{"354afe16-939a-4ea8-8e17-8bb0840b6886", 4},
                                                                      {"f562ac3b-2224-4e25-a0ab-56094e10c239", 5},
                                                                      {"TT0124", 0},
                                                                      {"", 1},
                                                                      {"ü", 8},
                                                                      {"order-1", 6},
                                                                      {"a", 4},
                                                                      {"customer/42", 1}};
  Tag tag = 0;
  for (const auto& [key, partition] : expected)
    REQUIRE(driver.submit(event_of("orders", key, "v"), tag++) == SubmitStatus::accepted);
  // One at a time: librdkafka keeps NULL keys on one partition for as long as it fills a batch
  // (sticky.partitioning.linger.ms).
  for (int i = 0; i < 40; ++i) {
    REQUIRE(driver.submit(event_of("orders", std::nullopt, "v"), tag++) == SubmitStatus::accepted);
    REQUIRE(driver.run_until_collected(tag));
  }
  std::set<std::int32_t> partitions_without_key;
  std::vector<std::pair<std::string, std::int32_t>> seen;
  for (const auto& record : read_topic(cluster.bootstrap_servers(), "orders", 10)) {
    if (record.key)
      seen.emplace_back(*record.key, record.partition);
    else
      partitions_without_key.insert(record.partition);
  }
  for (const auto& pair : expected) {
    CAPTURE(pair.first, pair.second);
    CHECK(std::find(seen.begin(), seen.end(), pair) != seen.end());
  }
  CHECK(partitions_without_key.size() > 1);
}

TEST_CASE("no more than the limits is in flight, and a larger event goes alone") {
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  auto options = options_for(cluster);
  options.limits = {.in_flight_events_max = 3, .in_flight_bytes_max = 100};
  KafkaSink sink(options);
  SinkDriver driver(sink);
  warm_up(driver, "orders");
  cluster.set_down(1);
  REQUIRE(sink.submit(event_of("orders", "k", std::string(1000, 'x')), 1) == SubmitStatus::accepted);
  CHECK(sink.submit(event_of("orders", "k", "v"), 2) == SubmitStatus::full);
  CHECK(sink.in_flight_bytes() == 1001);
  cluster.set_up(1);
  REQUIRE(driver.run_until_collected(1));
  cluster.set_down(1);
  for (Tag tag = 2; tag < 5; ++tag) REQUIRE(sink.submit(event_of("orders", "k", "v"), tag) == SubmitStatus::accepted);
  CHECK(sink.submit(event_of("orders", "k", "v"), 5) == SubmitStatus::full);
  CHECK(sink.in_flight_events() == 3);
  cluster.set_up(1);
  CHECK(driver.submit(event_of("orders", "k", "v"), 5) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(5));
}

TEST_CASE("collect gives no more than asked for and stays readable while there is more") {
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  auto options = options_for(cluster);
  options.properties.emplace_back("linger.ms", "200");  // all in one batch
  KafkaSink sink(options);
  SinkDriver driver(sink);
  warm_up(driver, "orders");
  for (Tag tag = 0; tag < 10; ++tag) REQUIRE(sink.submit(event_of("orders", "k", "v"), tag) == SubmitStatus::accepted);
  REQUIRE(driver.run_until([&] { return !driver.deliveries.empty(); }, kSinkPatience, 1));
  CHECK(driver.deliveries.size() == 1);
  for (Tag tag = 1; tag < 10; ++tag) {
    pollfd waiting{sink.descriptor(), POLLIN, 0};
    REQUIRE(::poll(&waiting, 1, 0) == 1);
    const auto deliveries = sink.collect(1);
    REQUIRE(deliveries.size() == 1);
    CHECK(deliveries[0].tag == tag);
  }
  CHECK(sink.collect(1).empty());
}

TEST_CASE("a topic name that Kafka forbids is rejected before producing") {
  MockCluster cluster;
  KafkaSink sink(options_for(cluster));
  REQUIRE(sink.submit(event_of("no topic!", "k", "v"), 1) == SubmitStatus::rejected);
  CHECK(sink.rejection().failure_class == FailureClass::topic);
  CHECK_THAT(sink.rejection().reason, ContainsSubstring("\"no topic!\""));
  CHECK(sink.in_flight_events() == 0);
}

TEST_CASE("a sink with events in flight is destroyed without waiting for a broker") {
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  auto sink = std::make_unique<KafkaSink>(options_for(cluster));
  SinkDriver driver(*sink);
  warm_up(driver, "orders");
  cluster.set_down(1);
  for (Tag tag = 0; tag < 100; ++tag)
    REQUIRE(sink->submit(event_of("orders", "k", "v"), tag) == SubmitStatus::accepted);
  const auto start = std::chrono::steady_clock::now();
  sink.reset();
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

}  // namespace walrelay::test
