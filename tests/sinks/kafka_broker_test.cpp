// KafkaSink against a real broker: what the mock cluster cannot say of topics and their limits.

#include "tests/support/kafka_broker.h"

#include <fmt/format.h>

#include <set>

#include "sinks/kafka_admin.h"
#include "sinks/kafka_sink.h"
#include "tests/support/catch.h"
#include "tests/support/shared_servers.h"
#include "tests/support/sink_driver.h"
#include "tests/support/topic_reader.h"

namespace walrelay::test {
namespace {

OutboxEvent event_of(std::string_view topic, std::string_view value) {
  OutboxEvent event;
  event.topic = topic;
  event.key = "k";
  event.value = value;
  event.timestamp_ms = 1'700'000'000'123;
  return event;
}

KafkaSinkOptions options_with(std::string name, std::string value) {
  KafkaSinkOptions options;
  options.properties = {{"bootstrap.servers", shared_kafka()}, {std::move(name), std::move(value)}};
  return options;
}

std::string small_topic() {
  const std::string topic = unique_name();
  create_topic(shared_kafka(), topic, 1, {{"max.message.bytes", "100000"}});
  return topic;
}

}  // namespace

TEST_CASE("A13: an event over the topic's limit is rejected with size and limit, up to the byte") {
  const std::string topic = small_topic();
  KafkaSink sink(options_with("compression.type", "none"));
  SinkDriver driver(sink);
  // Beside the value: 61 of the batch; lengths of 3 each for record and value; attributes, two deltas, key, header
  // count.
  const std::string fits(100'000 - (61 + 3 + 3 + 1 + 2 + 2 + 1), 'y');
  REQUIRE(driver.submit(event_of(topic, fits), 1) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(1));
  CHECK(driver.deliveries[0].status == DeliveryStatus::persisted);
  REQUIRE(driver.submit(event_of(topic, fits + "y"), 2) == SubmitStatus::rejected);
  CHECK(sink.rejection().failure_class == FailureClass::too_large);
  CHECK_THAT(sink.rejection().reason,
             ContainsSubstring("100001 bytes") && ContainsSubstring("max.message.bytes=100000"));
  CHECK(driver.submit(event_of(topic, "small"), 3) == SubmitStatus::accepted);
}

TEST_CASE("the topic of dead letters is made for what is too large for the others, and that alone") {
  auto options = options_with("compression.type", "none");
  options.dead_letter_topic = unique_name();
  KafkaSink sink(options);
  SinkDriver driver(sink);
  const std::string large(2'000'000, 'y');
  REQUIRE(driver.submit(event_of(options.dead_letter_topic, large), 1) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(1));
  CHECK(driver.deliveries[0].status == DeliveryStatus::persisted);
  const auto other = unique_name();
  REQUIRE(driver.submit(event_of(other, "small"), 2) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(2));
  const std::vector<std::string> topics = {options.dead_letter_topic, other};
  const auto report = inspect_kafka(options.properties, topics, std::chrono::seconds(10));
  CHECK(report.topics[0].max_message_bytes == KafkaSink::kDeadLetterBytesMax);
  CHECK(report.topics[1].max_message_bytes == report.max_message_bytes);
}

TEST_CASE("A13: a large event that may shrink is tried, not refused from its raw size") {
  const std::string topic = small_topic();
  KafkaSink sink(options_with("compression.type", "zstd"));
  SinkDriver driver(sink);
  REQUIRE(driver.submit(event_of(topic, std::string(1'000'000, 'y')), 1) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(1));
  CHECK(driver.deliveries[0].status == DeliveryStatus::persisted);
}

TEST_CASE("small events of a topic with a small limit are not refused for the size of their batch") {
  const std::string topic = small_topic();
  const std::string other = unique_name();
  create_topic(shared_kafka(), other);
  KafkaSink sink(options_with("compression.type", "none"));
  SinkDriver driver(sink);
  std::vector<std::string> expected;
  for (Tag tag = 0; tag < 2000; ++tag) {
    expected.push_back(fmt::format("{:01000}", tag));
    REQUIRE(driver.submit(event_of(tag % 4 == 0 ? other : topic, expected.back()), tag) == SubmitStatus::accepted);
  }
  REQUIRE(driver.run_until_collected(2000));
  for (const auto& delivery : driver.deliveries) CHECK(delivery.status == DeliveryStatus::persisted);
  std::vector<std::string> received;
  for (const auto& record : TopicReader(shared_kafka(), topic).read_to_end())
    received.push_back(record.value.value_or(""));
  std::erase_if(expected, [n = 0](const std::string&) mutable { return n++ % 4 == 0; });
  CHECK(received == expected);
}

TEST_CASE("a missing topic is rejected at once where it may not be made") {
  KafkaSink sink(options_with("allow.auto.create.topics", "false"));
  SinkDriver driver(sink);
  const std::string topic = unique_name();
  REQUIRE(driver.submit(event_of(topic, "v"), 1) == SubmitStatus::rejected);
  CHECK(sink.rejection().failure_class == FailureClass::topic);
  CHECK_THAT(sink.rejection().reason, ContainsSubstring(topic));
  create_topic(shared_kafka(), topic);
  CHECK(driver.submit(event_of(topic, "v"), 2) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(1));
}

// Making many at once may take a broker longer than librdkafka waits for the last of them.
TEST_CASE("of topics that the broker makes, each is there before the next one is produced to") {
  KafkaSink sink(options_with("linger.ms", "0"));
  SinkDriver driver(sink);
  std::vector<std::string> topics;
  for (Tag tag = 0; tag < 12; ++tag) {
    topics.push_back(unique_name());
    REQUIRE(driver.submit(event_of(topics.back(), "v"), tag) == SubmitStatus::accepted);
  }
  const std::vector<std::string> made(topics.begin(), topics.end() - 1);
  const auto report = inspect_kafka({{"bootstrap.servers", shared_kafka()}}, made, std::chrono::seconds(10));
  REQUIRE(report.topics.size() == made.size());
  for (const auto& topic : report.topics) CHECK(topic.exists);
  REQUIRE(driver.run_until_collected(topics.size()));
  for (const auto& delivery : driver.deliveries) CHECK(delivery.status == DeliveryStatus::persisted);
}

TEST_CASE("A13: of a batch that the broker refuses for one record the others arrive, in order and once") {
  const std::string topic = unique_name();
  create_topic(shared_kafka(), topic, 1, {{"cleanup.policy", "compact"}});  // takes no record without a key
  KafkaSink sink(options_with("linger.ms", "100"));
  SinkDriver driver(sink);
  constexpr std::size_t kEvents = 30;
  constexpr std::size_t kBad = 12;
  std::vector<std::string> expected;
  for (Tag tag = 0; tag < kEvents; ++tag) {
    OutboxEvent event = event_of(topic, "");
    const std::string value = std::to_string(tag);
    event.value = value;
    if (tag == kBad) event.key.reset();
    if (tag != kBad) expected.push_back(value);
    REQUIRE(driver.submit(event, tag) == SubmitStatus::accepted);
  }
  REQUIRE(driver.run_until_collected(kEvents));
  for (const auto& delivery : driver.deliveries) {
    CHECK((delivery.status == DeliveryStatus::failed) == (delivery.tag == kBad));
  }
  std::vector<std::string> received;
  for (const auto& record : TopicReader(shared_kafka(), topic).read_to_end()) {
    received.push_back(record.value.value_or("NULL"));
  }
  CHECK(received == expected);
  CHECK_FALSE(sink.fatal_reason().has_value());
}

TEST_CASE("a broker that refuses records in a busy stream loses and repeats none of the others") {
  const std::string topic = unique_name();
  create_topic(shared_kafka(), topic, 2, {{"cleanup.policy", "compact"}});
  KafkaSink sink(options_with("batch.num.messages", "50"));
  SinkDriver driver(sink);
  constexpr std::size_t kEvents = 3000;
  for (Tag tag = 0; tag < kEvents; ++tag) {
    OutboxEvent event = event_of(topic, "");
    const std::string value = std::to_string(tag);
    const std::string key = std::to_string(tag % 7);
    event.value = value;
    event.key = key;
    if (tag % 1000 == 500) event.key.reset();
    REQUIRE(driver.submit(event, tag) == SubmitStatus::accepted);
  }
  REQUIRE(driver.run_until_collected(kEvents));
  for (const auto& delivery : driver.deliveries) {
    CHECK((delivery.status == DeliveryStatus::failed) == (delivery.tag % 1000 == 500));
  }
  std::set<std::string> received;
  std::size_t records = 0;
  for (const auto& record : TopicReader(shared_kafka(), topic).read_to_end()) {
    received.insert(record.value.value_or("NULL"));
    ++records;
  }
  CHECK(records == kEvents - 3);
  CHECK(received.size() == kEvents - 3);
}

TEST_CASE("check sees a topic's limit and whether the broker makes topics") {
  const std::vector<std::string> topics = {small_topic(), unique_name()};
  const auto report = inspect_kafka({{"bootstrap.servers", shared_kafka()}}, topics, std::chrono::seconds(10));
  CHECK(report.unreachable.empty());
  CHECK(report.auto_create_topics == true);
  REQUIRE(report.topics.size() == 2);
  CHECK(report.topics[0].exists);
  CHECK(report.topics[0].max_message_bytes == 100'000);
  CHECK_FALSE(report.topics[1].exists);
  CHECK(report.topics[1].problem.empty());
}

}  // namespace walrelay::test
