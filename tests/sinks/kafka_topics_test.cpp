// Which missing topic is left to the brokers to be made.

#include "sinks/kafka_topics.h"

#include "sinks/kafka_options.h"
#include "tests/support/catch.h"

namespace walrelay::test {

TEST_CASE("missing topics are left to the brokers one at a time, and one that is not made holds up no other") {
  const auto client = make_kafka_client(make_kafka_conf({{"bootstrap.servers", "127.0.0.1:1"}}));
  const KafkaQueueHandle queue(rd_kafka_queue_get_main(client.get()));
  KafkaTopics topics(client.get(), queue.get());
  auto& first = topics.add("first");
  auto& second = topics.add("second");
  auto& third = topics.add("third");
  for (auto* topic : {&first, &second, &third}) topic->missing = true;
  CHECK(topics.may_be_made(first, "first"));
  CHECK_FALSE(topics.may_be_made(second, "second"));
  CHECK(topics.may_be_made(first, "first"));
  first.missing = false;
  CHECK(topics.may_be_made(second, "second"));
  CHECK_FALSE(topics.may_be_made(third, "third"));
  topics.not_made("first");
  CHECK_FALSE(topics.may_be_made(third, "third"));
  topics.not_made("second");
  CHECK(topics.may_be_made(third, "third"));
}

}  // namespace walrelay::test
