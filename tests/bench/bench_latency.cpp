// bench_latency DSN BROKERS TOPIC RATE WARMUP SECONDS: how long an event takes from its transaction to a consumer,
// while a relay runs. Inserts RATE rows a second into public.outbox, one a transaction, and consumes TOPIC from its
// end. A row's time starts at clock_timestamp() in its INSERT, so the commit and its fsync are part of it, and ends
// when the consumer has the record. Prints one JSON object, in milliseconds; the first WARMUP seconds are left out.

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "connector/postgres/pg_handles.h"
#include "tests/support/kafka_client.h"

namespace {

using Clock = std::chrono::steady_clock;
using walrelay::test::KafkaHandle;

constexpr int kAnswerMaxMs = 30'000;
constexpr auto kLate = std::chrono::milliseconds(50);
constexpr int kConnections = 4;  // one alone waits for its commits, and would not keep up with the rate everywhere

std::int64_t wall_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

struct Plan {
  std::string dsn, brokers, topic;
  long long rate, warm_up, total;  // events a second, events, events
};

// ---- inserts
// ----------------------------------------------------------------------------------------------------------

void expect(const walrelay::PgResultHandle& result, ExecStatusType wanted) {
  if (PQresultStatus(result.get()) != wanted) throw std::runtime_error(PQresultErrorMessage(result.get()));
}

// Every kConnections-th row, from `first` on. Returns how many began late because the ones before them took so long.
int insert_share(const Plan& plan, int first, Clock::time_point begin) {
  const walrelay::PgConnectionHandle connection(PQconnectdb(plan.dsn.c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection.get()));
  expect(walrelay::PgResultHandle(PQprepare(
             connection.get(), "insert_event",
             "INSERT INTO public.outbox (aggregatetype, aggregateid, type, payload) VALUES ('order', 'customer-' || "
             "($1::bigint % 10000), 'OrderPlaced', jsonb_build_object('n', $1::bigint, 'at', (extract(epoch from "
             "clock_timestamp()) * 1000000)::bigint, 'pad', repeat('0123456789', 50)))",
             1, nullptr)),
         PGRES_COMMAND_OK);
  int late = 0;
  for (long long n = first; n < plan.total; n += kConnections) {
    const auto due = begin + std::chrono::microseconds(n * 1'000'000 / plan.rate);
    std::this_thread::sleep_until(due);
    if (n >= plan.warm_up && Clock::now() - due > kLate) ++late;
    const std::string number = std::to_string(n);
    const char* values[] = {number.c_str()};
    expect(walrelay::PgResultHandle(PQexecPrepared(connection.get(), "insert_event", 1, values, nullptr, nullptr, 0)),
           PGRES_COMMAND_OK);
  }
  return late;
}

int insert_all(const Plan& plan) {
  std::vector<std::future<int>> shares;
  const auto begin = Clock::now();
  for (int i = 0; i < kConnections; ++i) {
    shares.push_back(std::async(std::launch::async, [&plan, i, begin] { return insert_share(plan, i, begin); }));
  }
  int late = 0;
  for (auto& share : shares) late += share.get();
  return late;
}

// ---- the consumer
// -----------------------------------------------------------------------------------------------------

class Consumer {
 public:
  explicit Consumer(const Plan& plan)
      : plan_(plan), client_(walrelay::test::kafka_client(RD_KAFKA_CONSUMER, plan.brokers, {{"group.id", "bench"}})) {
    rd_kafka_poll_set_consumer(client_.get());
    const int partitions = walrelay::test::ready_partitions(client_.get(), plan.topic);
    if (partitions == 0) throw std::runtime_error("there is no topic " + plan.topic);
    const KafkaHandle<rd_kafka_topic_partition_list_t> list(rd_kafka_topic_partition_list_new(partitions));
    for (int i = 0; i < partitions; ++i) {
      rd_kafka_topic_partition_list_add(list.get(), plan.topic.c_str(), i)->offset = RD_KAFKA_OFFSET_END;
    }
    rd_kafka_assign(client_.get(), list.get());
  }

  // Until every event behind the warm-up has come, or none has for a while.
  void consume_all() {
    const auto wanted = static_cast<std::size_t>(plan_.total - plan_.warm_up);
    while (latencies_us_.size() < wanted) {
      const KafkaHandle<rd_kafka_message_t> message(rd_kafka_consumer_poll(client_.get(), kAnswerMaxMs));
      if (!message) return;
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) take(*message);
    }
  }

  [[nodiscard]] std::vector<std::int64_t>& latencies_us() { return latencies_us_; }

 private:
  void take(const rd_kafka_message_t& message) {
    const std::int64_t now = wall_us();
    long long n = 0;
    long long at = 0;
    const std::string text(static_cast<const char*>(message.payload), message.len);
    if (std::sscanf(text.c_str(), R"({"n": %lld, "at": %lld)", &n, &at) != 2) return;  // NOLINT(cert-err34-c): our own
    if (n >= plan_.warm_up) latencies_us_.push_back(now - at);
  }

  const Plan& plan_;
  KafkaHandle<rd_kafka_t> client_;
  std::vector<std::int64_t> latencies_us_;
};

void print(std::vector<std::int64_t>& latencies_us, int late) {
  std::ranges::sort(latencies_us);
  const auto at = [&](double share) {
    const auto last = static_cast<double>(latencies_us.size() - 1);
    return static_cast<double>(latencies_us[static_cast<std::size_t>(share * last)]) / 1000;
  };
  fmt::print(R"({{"events": {}, "p50": {:.3f}, "p99": {:.3f}, "p999": {:.3f}, "max": {:.3f}, "late_inserts": {}}})"
             "\n",
             latencies_us.size(), at(0.5), at(0.99), at(0.999), at(1), late);
}

void run(const Plan& plan) {
  Consumer consumer(plan);
  std::thread consuming([&consumer] { consumer.consume_all(); });
  int late = 0;
  std::string failure;
  try {
    late = insert_all(plan);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  consuming.join();
  if (!failure.empty()) throw std::runtime_error(failure);
  const auto missing = plan.total - plan.warm_up - static_cast<long long>(consumer.latencies_us().size());
  if (missing != 0) throw std::runtime_error(fmt::format("{} events did not arrive", missing));
  print(consumer.latencies_us(), late);
}

}  // namespace

int main(int count, char** words) {
  if (count != 7) {
    fmt::print(stderr, "usage: bench_latency DSN BROKERS TOPIC RATE WARMUP SECONDS\n");
    return 2;
  }
  try {
    const long long rate = std::stoll(words[4]);
    const long long warm_up = rate * std::stoll(words[5]);
    run({words[1], words[2], words[3], rate, warm_up, warm_up + rate * std::stoll(words[6])});
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_latency: {}\n", error.what());
    return 1;
  }
}
