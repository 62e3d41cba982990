// Progress records in KafkaSink, on the mock cluster. It cannot make topics by request; before librdkafka 2.8 it has
// each that is asked for.

#include <fmt/format.h>

#include <filesystem>

#include "tests/sinks/kafka_test_support.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {
namespace {

constexpr std::string_view kTopic = "walrelay.progress";

KafkaSinkOptions with_progress(const MockCluster& cluster) {
  KafkaSinkOptions options = options_for(cluster);
  options.progress_topic = kTopic;
  return options;
}

StoredProgress read(KafkaSink& sink, std::string_view key) {
  SinkDriver driver(sink);
  StoredProgress answer = sink.read_progress(key);
  driver.run_until([&] {
    if (answer.state == StoredProgress::State::pending) answer = sink.read_progress(key);
    return answer.state != StoredProgress::State::pending;
  });
  return answer;
}

void write(KafkaSink& sink, std::string_view key, NullableBytes record) {
  SinkDriver driver(sink);
  SubmitStatus status = SubmitStatus::full;
  REQUIRE(driver.run_until([&] {
    status = sink.submit_progress(key, record, 7);
    return status != SubmitStatus::full;
  }));
  REQUIRE(status == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(1));
  CHECK(driver.deliveries[0].status == DeliveryStatus::persisted);
  CHECK(driver.deliveries[0].tag == 7);
  CHECK(sink.in_flight_events() == 0);
  CHECK(sink.in_flight_bytes() == 0);
}

using Records = std::vector<std::string>;

}  // namespace

TEST_CASE("a sink that was given no progress topic holds no records") {
  const MockCluster cluster;
  KafkaSink sink(options_for(cluster));
  CHECK(sink.read_progress("slot").state == StoredProgress::State::unsupported);
}

TEST_CASE("a key without a record has none, and what is written afterwards is read") {
  const MockCluster cluster;
  cluster.create_topic(std::string(kTopic), 1);
  KafkaSink sink(with_progress(cluster));
  const auto before = read(sink, "slot");
  CHECK(before.state == StoredProgress::State::ready);
  CHECK(before.records.empty());
  write(sink, "slot", "first");
  write(sink, "other", "of another slot");
  write(sink, "slot", "second");
  CHECK(read(sink, "slot").records == Records{"first", "second"});
  CHECK(read(sink, "other").records == Records{"of another slot"});
}

TEST_CASE("a removed record is gone, and one written after that counts alone") {
  const MockCluster cluster;
  cluster.create_topic(std::string(kTopic), 1);
  KafkaSink sink(with_progress(cluster));
  write(sink, "slot", "first");
  write(sink, "slot", std::nullopt);
  CHECK(read(sink, "slot").records.empty());
  write(sink, "slot", "second");
  CHECK(read(sink, "slot").records == Records{"second"});
}

TEST_CASE("a record that thousands of other keys have followed is still found") {
  const MockCluster cluster;
  cluster.create_topic(std::string(kTopic), 1);
  KafkaSink sink(with_progress(cluster));
  write(sink, "slot", "long ago");
  SinkDriver driver(sink);
  for (int i = 0; i < 1500; ++i) REQUIRE(sink.submit_progress("other", "x", 1) == SubmitStatus::accepted);
  REQUIRE(driver.run_until_collected(1500));
  CHECK(read(sink, "slot").records == Records{"long ago"});
}

TEST_CASE("records are not counted among the events that may be in flight") {
  const MockCluster cluster;
  cluster.create_topic(std::string(kTopic), 1);
  KafkaSinkOptions options = with_progress(cluster);
  options.limits.in_flight_events_max = 1;
  KafkaSink sink(std::move(options));
  SinkDriver driver(sink);
  warm_up(driver, "t");
  cluster.set_round_trip(1, 300);
  REQUIRE(driver.submit(event_of("t", "k", "v"), 1) == SubmitStatus::accepted);
  REQUIRE(sink.submit(event_of("t", "k", "v"), 2) == SubmitStatus::full);
  CHECK(sink.submit_progress("slot", "record", 3) == SubmitStatus::accepted);
  CHECK(driver.run_until_collected(2));
}

TEST_CASE("a progress topic that cannot be made now is waited for, and is used once it is there") {
  const MockCluster cluster;
  KafkaSink sink(with_progress(cluster));
  CHECK(sink.read_progress("slot").state == StoredProgress::State::pending);
  cluster.create_topic(std::string(kTopic), 1);
  CHECK(read(sink, "slot").state == StoredProgress::State::ready);
  write(sink, "slot", "first");
  CHECK(read(sink, "slot").records == Records{"first"});
}

TEST_CASE("a file that is missing when a record is to be read is no reason to throw") {
  const TempDir directory;
  const auto certificates = directory.path() / "ca";
  std::filesystem::create_directory(certificates);
  KafkaSinkOptions options;
  options.properties = {
      {"bootstrap.servers", "127.0.0.1:1"}, {"security.protocol", "ssl"}, {"ssl.ca.location", certificates.string()}};
  options.progress_topic = kTopic;
  KafkaSink sink(std::move(options));
  std::filesystem::remove(certificates);
  const auto answer = sink.read_progress("slot");
  CHECK(answer.state == StoredProgress::State::refused);
  CHECK_THAT(answer.reason, ContainsSubstring("progress record") && ContainsSubstring("ssl.ca.location"));
}

}  // namespace walrelay::test
