// KafkaSink when a broker refuses, answers wrongly, or is away.

#include "sinks/kafka_admin.h"
#include "tests/sinks/kafka_test_support.h"
#include "tests/support/wait.h"

namespace walrelay::test {

TEST_CASE("a refused event comes back whole, with class, reason and remedy") {
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  warm_up(driver, "orders");
  const auto [error, failure_class] = GENERATE(table<rd_kafka_resp_err_t, FailureClass>({
      {RD_KAFKA_RESP_ERR_INVALID_RECORD, FailureClass::rejected},
      {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, FailureClass::too_large},
      {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, FailureClass::authorization},
      {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, FailureClass::authorization},
      {RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, FailureClass::timestamp},
  }));
  CAPTURE(rd_kafka_err2name(error));
  cluster.fail_produce({error});
  const EventHeader headers[] = {{"id", "42"}, {"none", std::nullopt}};
  OutboxEvent event = event_of("orders", std::nullopt, "");
  event.headers = headers;
  REQUIRE(driver.submit(event, 5) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(1));
  const auto& delivery = driver.deliveries[0];
  CHECK(delivery.tag == 5);
  REQUIRE(delivery.status == DeliveryStatus::failed);
  REQUIRE(delivery.failed);
  CHECK(delivery.failed->rejection.failure_class == failure_class);
  CHECK_THAT(delivery.failed->rejection.reason,
             ContainsSubstring("\"orders\"") && ContainsSubstring(rd_kafka_err2name(error)));
  CHECK(delivery.failed->topic == "orders");
  CHECK_FALSE(delivery.failed->key.has_value());
  CHECK(delivery.failed->value == "");
  CHECK(delivery.failed->timestamp_ms == 1'700'000'000'123);
  const std::vector<std::pair<std::string, std::optional<std::string>>> expected = {{"id", "42"},
                                                                                    {"none", std::nullopt}};
  CHECK(delivery.failed->headers == expected);
  CHECK_FALSE(sink.fatal_reason().has_value());
  CHECK(sink.in_flight_events() == 0);
}

TEST_CASE("a refused event does not stop the sink") {
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  warm_up(driver, "orders");
  cluster.fail_produce({RD_KAFKA_RESP_ERR_INVALID_RECORD});
  REQUIRE(driver.submit(event_of("orders", "k", "bad"), 1) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(1));
  REQUIRE(driver.submit(event_of("orders", "k", "good"), 2) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(2));
  CHECK(driver.deliveries[0].status == DeliveryStatus::failed);
  CHECK(driver.deliveries[1].status == DeliveryStatus::persisted);
}

TEST_CASE("an answer about the producer ends the sink and leaves its events in doubt") {
  const auto error = GENERATE(RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH);
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  warm_up(driver, "orders");
  cluster.fail_produce({error});
  REQUIRE(driver.submit(event_of("orders", "k", "v"), 1) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(1));
  CHECK(driver.deliveries[0].status == DeliveryStatus::in_doubt);
  REQUIRE(driver.run_until([&] { return sink.fatal_reason().has_value(); }));
  CHECK(sink.submit(event_of("orders", "k", "v"), 2) == SubmitStatus::full);
  CHECK(sink.in_flight_events() == 0);
}

TEST_CASE("A14: a retriable error holds only its own partition back and keeps the order of its key") {
  MockCluster cluster;
  cluster.create_topic("orders", 2);
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  warm_up(driver, "orders");
  cluster.fail_produce({RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION});
  Tag tag = 0;
  for (const auto* value : {"A", "B", "C"})
    REQUIRE(driver.submit(event_of("orders", "agg-1", value), tag++) == SubmitStatus::accepted);
  REQUIRE(driver.submit(event_of("orders", "agg-2", "D"), tag++) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(tag));
  for (const auto& delivery : driver.deliveries) CHECK(delivery.status == DeliveryStatus::persisted);
  const auto records = read_topic(cluster.bootstrap_servers(), "orders", 2);
  CHECK(values_of(records, "agg-1") == std::vector<std::string>{"A", "B", "C"});
  CHECK(values_of(records, "agg-2") == std::vector<std::string>{"D"});
}

TEST_CASE("a connection that closes with events in flight loses and repeats nothing") {
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  warm_up(driver, "orders");
  cluster.fail_produce({RD_KAFKA_RESP_ERR__TRANSPORT});
  std::vector<std::string> expected;
  for (Tag tag = 0; tag < 50; ++tag) {
    expected.push_back(std::to_string(tag));
    REQUIRE(driver.submit(event_of("orders", "k", expected.back()), tag) == SubmitStatus::accepted);
  }
  REQUIRE(driver.run_until_collected(50));
  CHECK(values_of(read_topic(cluster.bootstrap_servers(), "orders", 1), "k") == expected);
}

TEST_CASE("A25: nothing is given up while the brokers are down, and the outage is told and ends by itself") {
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  warm_up(driver, "orders");
  CHECK(sink.health().reachable);
  cluster.set_down(1);
  std::vector<std::string> expected;
  for (Tag tag = 0; tag < 100; ++tag) {
    expected.push_back(std::to_string(tag));
    REQUIRE(driver.submit(event_of("orders", "k", expected.back()), tag) == SubmitStatus::accepted);
  }
  REQUIRE(driver.run_until([&] { return !sink.health().reachable; }));
  CHECK_THAT(sink.health().why, ContainsSubstring(cluster.bootstrap_servers()) && ContainsSubstring("refused") &&
                                    ContainsSubstring("; see that the brokers run"));
  CHECK(driver.deliveries.empty());
  CHECK(sink.in_flight_events() == 100);
  cluster.set_up(1);
  REQUIRE(driver.run_until_collected(100));
  for (const auto& delivery : driver.deliveries) CHECK(delivery.status == DeliveryStatus::persisted);
  CHECK(sink.health().reachable);
  CHECK(values_of(read_topic(cluster.bootstrap_servers(), "orders", 1), "k") == expected);
}

TEST_CASE("a sink that has never published notices by itself that the brokers have come back") {
  MockCluster cluster;
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  REQUIRE(driver.run_until([&] { return sink.health().reachable; }));
  cluster.set_down(1);
  REQUIRE(driver.run_until([&] { return !sink.health().reachable; }));
  cluster.set_up(1);
  CHECK(driver.run_until([&] { return sink.health().reachable; }));
}

TEST_CASE("a sink that starts without a broker holds events back until there is one") {
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  cluster.set_down(1);
  KafkaSink sink(options_for(cluster));
  SinkDriver driver(sink);
  CHECK_FALSE(sink.health().reachable);
  const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  CHECK(driver.submit_until(event_of("orders", "k", "v"), 1, soon) == SubmitStatus::full);
  cluster.set_up(1);
  REQUIRE(driver.submit(event_of("orders", "k", "v"), 1) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(1));
  CHECK(driver.deliveries[0].status == DeliveryStatus::persisted);
}

// librdkafka answers such a call with the reason for which the producer is finished, as if the record were refused.
TEST_CASE("an event or a progress record that comes to a finished producer is not refused") {
  MockCluster cluster;
  cluster.create_topic("orders", 1);
  auto options = options_for(cluster);
  options.progress_topic = "progress";
  KafkaSink sink(options);
  SinkDriver driver(sink);
  warm_up(driver, "orders");
  const bool progress = GENERATE(false, true);
  auto status = SubmitStatus::accepted;
  const bool ended = wait_until(kSinkPatience, [&] {  // without a collect() that would tell of it
    cluster.fail_produce({RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER});
    for (Tag tag = 0; tag < 20 && status == SubmitStatus::accepted; ++tag) {
      status = progress ? sink.submit_progress("slot", "record", tag) : sink.submit(event_of("orders", "k", "v"), tag);
    }
    return status != SubmitStatus::accepted;
  });
  REQUIRE(ended);
  CHECK(status == SubmitStatus::full);
  CHECK(sink.in_flight_events() < options.limits.in_flight_events_max);
  REQUIRE(sink.fatal_reason());
  CHECK_THAT(*sink.fatal_reason(), ContainsSubstring("OUT_OF_ORDER_SEQUENCE_NUMBER"));
}

TEST_CASE("an event of a topic that is not made in its time fails with class topic") {
  MockCluster cluster;
  cluster.fail_metadata("missing", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  auto options = options_for(cluster);
  options.properties.emplace_back("topic.metadata.propagation.max.ms", "1000");
  KafkaSink sink(options);
  SinkDriver driver(sink);
  REQUIRE(driver.submit(event_of("missing", "k", "v"), 1) == SubmitStatus::accepted);
  REQUIRE(driver.run_until([&] { return !driver.deliveries.empty(); }, std::chrono::seconds(15)));
  REQUIRE(driver.deliveries[0].status == DeliveryStatus::failed);
  CHECK(driver.deliveries[0].failed->rejection.failure_class == FailureClass::topic);
  CHECK_THAT(driver.deliveries[0].failed->rejection.reason, ContainsSubstring("create the topic"));
  REQUIRE(sink.submit(event_of("missing", "k", "v"), 2) == SubmitStatus::rejected);
  CHECK(sink.rejection().failure_class == FailureClass::topic);
}

TEST_CASE("librdkafka's lines are logged on the loop thread, by collect") {
  MockCluster cluster;
  std::vector<std::string> lines;
  auto options = options_for(cluster);
  options.properties.emplace_back("debug", "broker");
  options.log = [&](SinkLogLevel, std::string_view text) { lines.emplace_back(text); };
  KafkaSink sink(options);
  CHECK(lines.empty());
  SinkDriver driver(sink);
  CHECK(driver.run_until([&] { return !lines.empty(); }));
}

TEST_CASE("check learns which topics exist, and creates none") {
  MockCluster cluster(3);
  cluster.create_topic("orders", 5);
  cluster.fail_metadata("missing", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  const std::vector<std::string> topics = {"orders", "missing", "not a name"};
  const auto report =
      inspect_kafka({{"bootstrap.servers", cluster.bootstrap_servers()}}, topics, std::chrono::seconds(5));
  CHECK(report.unreachable.empty());
  CHECK(report.brokers.size() == 3);
  REQUIRE(report.topics.size() == 3);
  CHECK(report.topics[0].exists);
  CHECK(report.topics[0].partitions == 5);
  CHECK(report.topics[0].problem.empty());
  CHECK_FALSE(report.topics[1].exists);
  CHECK(report.topics[1].problem.empty());
  CHECK_THAT(report.topics[2].problem, ContainsSubstring("forbids"));
}

TEST_CASE("check says within its time why no broker answers") {
  MockCluster cluster;
  cluster.set_down(1);
  const auto start = std::chrono::steady_clock::now();
  const auto report = inspect_kafka({{"bootstrap.servers", cluster.bootstrap_servers()}}, {}, std::chrono::seconds(2));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
  CHECK_THAT(report.unreachable, ContainsSubstring(cluster.bootstrap_servers()) && ContainsSubstring("refused"));
}

}  // namespace walrelay::test
