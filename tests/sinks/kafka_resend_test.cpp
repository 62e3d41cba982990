// KafkaSink when a broker refuses a whole batch for one of its records.

#include <fmt/format.h>

#include "tests/sinks/kafka_test_support.h"

namespace walrelay::test {
namespace {

constexpr auto kRefused = RD_KAFKA_RESP_ERR_INVALID_RECORD;
constexpr auto kStored = RD_KAFKA_RESP_ERR_NO_ERROR;

// Events of one key, in batches of five.
class BatchesOfFive {
 public:
  BatchesOfFive() {
    cluster.create_topic("orders", 1);
    warm_up(driver, "orders");
  }

  // The next `count` values, as decimal numbers; the tag is the number.
  void submit(std::size_t count) {
    for (const std::size_t end = submitted_ + count; submitted_ < end; ++submitted_) {
      REQUIRE(driver.submit(event_of("orders", "k", std::to_string(submitted_)), submitted_) == SubmitStatus::accepted);
    }
  }
  [[nodiscard]] std::vector<Tag> tags(DeliveryStatus status) const {
    std::vector<Tag> tags;
    for (const auto& delivery : driver.deliveries) {
      if (delivery.status == status) tags.push_back(delivery.tag);
    }
    return tags;
  }
  [[nodiscard]] std::vector<std::string> stored() const {
    return values_of(read_topic(cluster.bootstrap_servers(), "orders", 1), "k");
  }

  MockCluster cluster;
  std::vector<std::string> log;
  KafkaSink sink{options()};
  SinkDriver driver{sink};

 private:
  KafkaSinkOptions options() {
    auto options = options_for(cluster);
    options.properties.emplace_back("linger.ms", "200");
    options.properties.emplace_back("batch.num.messages", "5");
    options.log = [this](SinkLogLevel, std::string_view text) { log.emplace_back(text); };
    return options;
  }

  std::size_t submitted_ = 0;
};

std::vector<std::string> numbers(std::initializer_list<int> values) {
  std::vector<std::string> texts;
  for (const int value : values) texts.push_back(std::to_string(value));
  return texts;
}

}  // namespace

TEST_CASE("the records of a refused batch are sent again one by one, in their order") {
  BatchesOfFive test;
  test.cluster.fail_produce({kRefused});
  test.submit(5);
  REQUIRE(test.driver.run_until_collected(5));
  CHECK(test.tags(DeliveryStatus::persisted) == std::vector<Tag>{0, 1, 2, 3, 4});
  CHECK(test.stored() == numbers({0, 1, 2, 3, 4}));
  CHECK(test.sink.in_flight_events() == 0);
  CHECK(test.sink.in_flight_bytes() == 0);
}

TEST_CASE("of a refused batch only the record that is refused alone counts as refused") {
  BatchesOfFive test;
  const auto error = GENERATE(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_POLICY_VIOLATION);
  CAPTURE(rd_kafka_err2name(error));
  test.cluster.fail_produce({error, kStored, kStored, error});
  test.submit(5);
  REQUIRE(test.driver.run_until_collected(5));
  CHECK(test.tags(DeliveryStatus::failed) == std::vector<Tag>{2});
  CHECK(test.tags(DeliveryStatus::persisted) == std::vector<Tag>{0, 1, 3, 4});
  const auto& failed = *test.driver.deliveries[2].failed;
  CHECK(failed.value == "2");
  CHECK(failed.timestamp_ms == 1'700'000'000'123);
  CHECK_THAT(failed.rejection.reason, ContainsSubstring(rd_kafka_err2name(error)));
  CHECK(test.stored() == numbers({0, 1, 3, 4}));
}

TEST_CASE("a record keeps key, value, headers and time when it is sent again") {
  BatchesOfFive test;
  test.cluster.fail_produce({kRefused});
  const EventHeader headers[] = {{"id", "42"}, {"none", std::nullopt}};
  OutboxEvent event = event_of("orders", std::nullopt, "");
  event.headers = headers;
  REQUIRE(test.driver.submit(event, 1) == SubmitStatus::accepted);
  REQUIRE(test.driver.submit(event_of("orders", "", std::nullopt), 2) == SubmitStatus::accepted);
  REQUIRE(test.driver.run_until_collected(2));
  const auto records = read_topic(test.cluster.bootstrap_servers(), "orders", 1);
  REQUIRE(records.size() == 3);  // with what warmed it up
  CHECK_FALSE(records[1].key.has_value());
  CHECK(records[1].value == "");
  const std::vector<std::pair<std::string, std::optional<std::string>>> expected = {{"id", "42"},
                                                                                    {"none", std::nullopt}};
  CHECK(records[1].headers == expected);
  CHECK(records[1].timestamp_ms == 1'700'000'000'123);
  CHECK(records[2].key == "");
  CHECK_FALSE(records[2].value.has_value());
}

TEST_CASE("what is submitted while a batch is sent again comes behind it") {
  BatchesOfFive test;
  test.cluster.fail_produce({kRefused});
  test.submit(5);
  REQUIRE(test.driver.run_until([&] { return !test.driver.deliveries.empty(); }, kSinkPatience, 1));
  CHECK(test.driver.deliveries.size() == 1);  // the others are still to be sent again
  test.submit(10);
  REQUIRE(test.driver.run_until_collected(15));
  CHECK(test.stored() == numbers({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
}

TEST_CASE("after hold() nothing behind a refused event is sent any more") {
  BatchesOfFive test;
  test.cluster.fail_produce({kRefused, kStored, kRefused});
  test.submit(5);
  REQUIRE(test.driver.run_until_collected(2));
  REQUIRE(test.tags(DeliveryStatus::failed) == std::vector<Tag>{1});
  test.sink.hold();
  test.submit(5);
  CHECK_FALSE(test.driver.run_until([&] { return test.driver.deliveries.size() > 2; }, std::chrono::seconds(1)));
  CHECK(test.stored() == numbers({0}));
  CHECK(test.sink.in_flight_events() == 8);
}

TEST_CASE("other partitions go on while the records of a refused batch wait") {
  BatchesOfFive test;
  test.cluster.create_topic("others", 1);
  test.cluster.fail_produce({kRefused, kRefused});
  test.submit(5);
  REQUIRE(test.driver.run_until_collected(1));
  test.sink.hold();
  REQUIRE(test.driver.submit(event_of("others", "k", "v"), 100) == SubmitStatus::accepted);
  REQUIRE(test.driver.run_until_collected(2));
  CHECK(test.driver.deliveries[1].tag == 100);
  CHECK(test.driver.deliveries[1].status == DeliveryStatus::persisted);
}

TEST_CASE("a producer of resent records that cannot go on ends the sink and leaves its record in doubt") {
  BatchesOfFive test;
  test.cluster.fail_produce({kRefused, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER});
  test.submit(5);
  REQUIRE(test.driver.run_until([&] { return test.sink.fatal_reason().has_value(); }));
  CHECK(test.tags(DeliveryStatus::persisted).empty());
  CHECK(test.tags(DeliveryStatus::failed).empty());
}

TEST_CASE("batches that are refused for their size alone become smaller where the topic's limit is not known") {
  BatchesOfFive test;
  test.cluster.fail_produce({RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE});
  test.submit(5);
  REQUIRE(test.driver.run_until_collected(5));
  test.submit(1);
  REQUIRE(test.driver.run_until_collected(6));
  CHECK(test.tags(DeliveryStatus::persisted).size() == 6);
  const auto told =
      std::ranges::find_if(test.log, [](const auto& line) { return line.find("batches become") != line.npos; });
  CHECK(told != test.log.end());
}

}  // namespace walrelay::test
