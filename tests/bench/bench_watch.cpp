// bench_watch BROKERS TOPIC COUNT: when the next COUNT records of a topic reach the broker, seen by the ends of its
// partitions. Prints "ready", then "first T N", "half T N" and "last T N" as they come: T in seconds since 1970, N how
// many records there were. Ends with 1 if nothing new comes for a minute.

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "tests/support/kafka_client.h"

namespace {

using Clock = std::chrono::steady_clock;
using walrelay::test::KafkaHandle;

constexpr auto kSilenceMax = std::chrono::seconds(60);
constexpr int kAnswerMaxMs = 10'000;
constexpr useconds_t kEagerUs = 3'000;  // until the first record: what comes before it is the start of the consumer
constexpr useconds_t kLazyUs = 15'000;

class Watch {
 public:
  Watch(const std::string& brokers, std::string topic)
      : client_(walrelay::test::kafka_client(RD_KAFKA_CONSUMER, brokers, {{"group.id", "watch"}})),
        topic_(std::move(topic)),
        partitions_(walrelay::test::ready_partitions(client_.get(), topic_)) {
    begin_ = end();
  }

  // Waits until there are at least that many new records; how many there are then.
  std::int64_t wait_for(std::int64_t count, useconds_t pause) {
    auto deadline = Clock::now() + kSilenceMax;
    for (std::int64_t seen = 0; seen < count;) {
      usleep(pause);
      const std::int64_t now = end() - begin_;
      if (now > seen) deadline = Clock::now() + kSilenceMax;
      if (Clock::now() > deadline) throw std::runtime_error(fmt::format("{} of {} records came", now, count));
      seen = now;
      seen_ = now;
    }
    return seen_;
  }

 private:
  std::int64_t end() {
    if (partitions_ == 0) partitions_ = walrelay::test::ready_partitions(client_.get(), topic_);
    std::int64_t sum = 0;
    for (int partition = 0; partition < partitions_; ++partition) {
      std::int64_t low = 0;
      std::int64_t high = 0;
      const auto error =
          rd_kafka_query_watermark_offsets(client_.get(), topic_.c_str(), partition, &low, &high, kAnswerMaxMs);
      if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return begin_ + seen_;  // a topic that has just been made; or later
      sum += high;
    }
    return sum;
  }

  KafkaHandle<rd_kafka_t> client_;
  std::string topic_;
  int partitions_;  // 0: the topic is not there yet
  std::int64_t begin_ = 0;
  std::int64_t seen_ = 0;
};

void say(const char* what, std::int64_t count) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  fmt::print("{} {:.6f} {}\n", what, now.count(), count);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    fmt::print(stderr, "usage: bench_watch BROKERS TOPIC COUNT\n");
    return 2;
  }
  try {
    const std::int64_t wanted = std::stoll(words[3]);
    Watch watch(words[1], words[2]);
    say("ready", 0);
    say("first", watch.wait_for(1, kEagerUs));
    say("half", watch.wait_for((wanted + 1) / 2, kLazyUs));
    say("last", watch.wait_for(wanted, kLazyUs));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_watch: {}\n", error.what());
    return 1;
  }
}
