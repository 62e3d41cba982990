// A key's partition is the one that Java producers choose, so that both can write to one topic.

#include <fmt/format.h>

#include <map>
#include <set>
#include <sstream>

#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/outbox_case.h"
#include "tests/support/shared_servers.h"

namespace walrelay::test {
namespace {

constexpr int kPartitions = 10;

// Computed by the Java client itself.
std::map<std::string, int> java_partitions(const std::vector<std::string>& keys) {
  std::vector<std::string> arguments{"-Dsun.jnu.encoding=UTF-8",
                                     "-Dfile.encoding=UTF-8",
                                     "-cp",
                                     kafka_jars() + "/*",
                                     WALRELAY_TESTS_DIR "/integration/Partitions.java",
                                     std::to_string(kPartitions)};
  arguments.insert(arguments.end(), keys.begin(), keys.end());
  ProcessOptions options;
  options.environment = {{"LC_ALL", "C.UTF-8"}};
  const auto java = run_command("java", arguments, options, std::chrono::seconds(60));
  INFO(java.errors);
  REQUIRE(java.status == 0);
  std::map<std::string, int> partitions;
  std::istringstream lines(java.output);
  for (const auto& key : keys) lines >> partitions[key];
  return partitions;
}

TEST_CASE("each key goes to the partition that a Java producer gives it, and rows without one are spread") {
  std::vector<std::string> keys{"354afe16-939a-4ea8-8e17-8bb0840b6886",
                                "f562ac3b-2224-4e25-a0ab-56094e10c239",
                                "TT0124",
                                "",
                                "ü",
                                "ключ 🚚",
                                "a",
                                "ab",
                                "abc",
                                "abcd",
                                "order-1"};
  for (int i = 0; i < 50; ++i) keys.push_back(std::to_string(i * 7919));
  OutboxCase outbox;
  outbox.exec("CREATE TABLE outbox (k text)");
  outbox.add_outbox(
      fmt::format("table = \"public.outbox\"\ntopic = \"{}\"\nkey = \"{{k}}\"\nvalue = \"x\"", outbox.name()));
  outbox.init();
  create_topic(shared_kafka(), outbox.name(), kPartitions);
  for (const auto& key : keys) outbox.exec(fmt::format("INSERT INTO outbox VALUES ('{}')", key));
  outbox.exec("INSERT INTO outbox SELECT NULL FROM generate_series(1, 200)");
  // By default those without a key that are written within 10 ms go together.
  REQUIRE(outbox.run("run", {"--drain", "-X", "sticky.partitioning.linger.ms=0"}).status == 0);

  std::map<std::string, int> partitions;
  std::set<int> without_key;
  for (const auto& record : OutboxCase::records(outbox.name())) {
    if (record.key) {
      partitions[*record.key] = record.partition;
    } else {
      without_key.insert(record.partition);
    }
  }
  CHECK(partitions == java_partitions(keys));
  CHECK(without_key.size() == kPartitions);
}

TEST_CASE("another partitioner is a property of librdkafka's") {
  OutboxCase outbox;
  outbox.exec("CREATE TABLE outbox (k text)");
  outbox.add_outbox(
      fmt::format("table = \"public.outbox\"\ntopic = \"{}\"\nkey = \"{{k}}\"\nvalue = \"x\"", outbox.name()));
  outbox.init();
  create_topic(shared_kafka(), outbox.name(), kPartitions);
  outbox.exec("INSERT INTO outbox VALUES ('123456789')");
  REQUIRE(outbox.run("run", {"--drain", "-X", "partitioner=consistent_random"}).status == 0);
  const auto records = OutboxCase::records(outbox.name());
  REQUIRE(records.size() == 1);
  CHECK(records[0].partition == 0xCBF43926U % kPartitions);  // CRC-32's check value
}

}  // namespace
}  // namespace walrelay::test
