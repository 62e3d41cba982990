// What lingers in a producer, and what does not.

#include "sinks/kafka_flusher.h"

#include <chrono>
#include <string>

#include "sinks/kafka_producer.h"
#include "tests/support/catch.h"
#include "tests/support/mock_cluster.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr const char* kForAges = "600000";  // ms
constexpr milliseconds kPatience = seconds(30);
constexpr milliseconds kMoment = milliseconds(300);  // several turns of a flusher, and of a mock broker

// A producer that lingers for ages.
class Lingering {
 public:
  Lingering() {
    cluster_.create_topic("orders", 1);
    KafkaConfHandle conf =
        make_kafka_conf({{"bootstrap.servers", cluster_.bootstrap_servers()}, {"linger.ms", kForAges}});
    client_ = make_kafka_client(std::move(conf));
    queue_.reset(rd_kafka_queue_get_main(client_.get()));
  }
  [[nodiscard]] rd_kafka_t* client() const { return client_.get(); }
  void produce() const {
    REQUIRE(rd_kafka_producev(client_.get(), RD_KAFKA_V_TOPIC("orders"), RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  // The next report, if it comes in time.
  [[nodiscard]] KafkaEventHandle report(milliseconds at_most) const {
    const auto deadline = std::chrono::steady_clock::now() + at_most;
    while (std::chrono::steady_clock::now() < deadline) {
      KafkaEventHandle event(rd_kafka_queue_poll(queue_.get(), 20));
      if (event && rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_DR) return event;
    }
    return nullptr;
  }

 private:
  MockCluster cluster_;
  KafkaClientHandle client_;
  KafkaQueueHandle queue_;
};

}  // namespace

TEST_CASE("a flusher sends at once what lingers, and lets it linger again") {
  const Lingering producer;
  KafkaFlusher flusher(producer.client());
  producer.produce();
  CHECK_FALSE(producer.report(kMoment));
  flusher.flush();
  const auto kept = producer.report(kPatience);  // without it flushing would end by itself
  REQUIRE(kept);
  flusher.rest();
  CHECK_FALSE(producer.report(kMoment));  // the turn that was under way ends
  producer.produce();
  CHECK_FALSE(producer.report(kMoment));
}

TEST_CASE("flushing goes on without being asked for while a report is kept, and ends when nothing is left") {
  const Lingering producer;
  KafkaFlusher flusher(producer.client());
  producer.produce();
  flusher.flush();
  auto kept = producer.report(kPatience);
  REQUIRE(kept);
  producer.produce();
  auto next = producer.report(kPatience);
  REQUIRE(next);
  kept.reset();
  next.reset();
  CHECK_FALSE(producer.report(kMoment));
  producer.produce();
  CHECK_FALSE(producer.report(kMoment));
}

TEST_CASE("a flusher ends although something cannot be sent") {
  const KafkaClientHandle client = make_kafka_client(make_kafka_conf({{"bootstrap.servers", "127.0.0.1:1"}}));
  const auto begin = std::chrono::steady_clock::now();
  {
    KafkaFlusher flusher(client.get());
    REQUIRE(rd_kafka_producev(client.get(), RD_KAFKA_V_TOPIC("orders"), RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR_NO_ERROR);
    flusher.flush();
  }
  CHECK(std::chrono::steady_clock::now() - begin < kPatience);
}

TEST_CASE("a linger that was given holds for a quiet stream, too, and a report that is kept is not in the queue") {
  const MockCluster cluster;
  cluster.create_topic("orders", 1);
  const bool given = GENERATE(false, true);
  KafkaProperties properties{{"bootstrap.servers", cluster.bootstrap_servers()}};
  if (given) properties.emplace_back("linger.ms", kForAges);
  KafkaProducer producer(properties, 1'000'000, -1);
  REQUIRE(rd_kafka_producev(producer.client(), RD_KAFKA_V_TOPIC("orders"), RD_KAFKA_V_END) ==
          RD_KAFKA_RESP_ERR_NO_ERROR);
  KafkaEventHandle report;
  const bool reported = wait_until(given ? kMoment : kPatience, [&] {
    producer.let_linger(false);
    auto event = producer.next_event();
    if (event && rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_DR) report = std::move(event);
    return report != nullptr;
  });
  CHECK(reported == !given);
  if (!report) return;
  const auto messages = rd_kafka_event_message_count(report.get());
  producer.keep(std::move(report), messages);
  CHECK(wait_until(kPatience, [&] { return producer.queued() == 0; }));
}

}  // namespace walrelay::test
