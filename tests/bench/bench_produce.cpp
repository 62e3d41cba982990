// bench_produce BROKERS TOPIC COUNT BYTES: what the broker takes. Produces COUNT events that lie ready in memory, with
// walrelay's own settings, and waits for every acknowledgement. Prints one JSON object: seconds from the first event to
// the last acknowledgement, and the CPU seconds of this process in that time.

#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "sinks/kafka_options.h"

namespace {

using Clock = std::chrono::steady_clock;
using walrelay::KafkaEventHandle;

constexpr std::size_t kDistinct = 10'000;  // keys and payloads; used in turn
constexpr int kAnswerMaxMs = 60'000;

struct Event {
  std::string id, key, value;
};

std::vector<Event> make_events(std::size_t bytes) {
  std::vector<Event> events(kDistinct);
  for (std::size_t i = 0; i < events.size(); ++i) {
    auto& [id, key, value] = events[i];
    id = fmt::format("00000000-0000-4000-8000-{:012}", i);
    key = fmt::format("customer-{}", i);
    value = fmt::format(R"({{"order": {}, "pad": ")", i);
    for (std::size_t state = i + 1; value.size() + 2 < bytes; state = state * 6364136223846793005ULL + 1) {
      value += "0123456789abcdef"[state >> 60U];
    }
    value += "\"}";
  }
  return events;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Producer {
 public:
  Producer(const std::string& brokers, const std::string& topic)
      : client_(walrelay::make_kafka_client(walrelay::make_kafka_conf({{"bootstrap.servers", brokers}}))),
        queue_(rd_kafka_queue_get_main(client_.get())),
        topic_(rd_kafka_topic_new(client_.get(), topic.c_str(), nullptr)) {
    const rd_kafka_metadata_t* metadata = nullptr;  // so that connecting is not part of what is timed
    if (rd_kafka_metadata(client_.get(), 0, topic_.get(), &metadata, kAnswerMaxMs) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      throw std::runtime_error("no answer from " + brokers);
    }
    rd_kafka_metadata_destroy(metadata);
  }

  void produce(const Event& event) {
    rd_kafka_headers_t* headers = rd_kafka_headers_new(1);
    rd_kafka_header_add(headers, "id", 2, event.id.data(), static_cast<ssize_t>(event.id.size()));
    std::array<rd_kafka_vu_t, 5> parts{};
    parts[0].vtype = RD_KAFKA_VTYPE_RKT;
    parts[0].u.rkt = topic_.get();
    parts[1].vtype = RD_KAFKA_VTYPE_KEY;
    parts[1].u.mem = {.ptr = const_cast<char*>(event.key.data()), .size = event.key.size()};
    parts[2].vtype = RD_KAFKA_VTYPE_VALUE;
    parts[2].u.mem = {.ptr = const_cast<char*>(event.value.data()), .size = event.value.size()};
    parts[3].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    parts[3].u.i = RD_KAFKA_MSG_F_COPY;
    parts[4].vtype = RD_KAFKA_VTYPE_HEADERS;
    parts[4].u.headers = headers;
    if (const walrelay::KafkaErrorHandle error{rd_kafka_produceva(client_.get(), parts.data(), parts.size())}) {
      throw std::runtime_error(rd_kafka_error_string(error.get()));
    }
  }

  // The number of events acknowledged meanwhile.
  std::size_t poll(int at_most_ms) {
    const KafkaEventHandle event(rd_kafka_queue_poll(queue_.get(), at_most_ms));
    if (!event || rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_DR) return 0;
    std::size_t count = 0;
    while (const auto* message = rd_kafka_event_message_next(event.get())) {
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error(rd_kafka_err2str(message->err));
      ++count;
    }
    return count;
  }

 private:
  walrelay::KafkaClientHandle client_;
  walrelay::KafkaQueueHandle queue_;
  walrelay::KafkaTopicHandle topic_;
};

void run(const std::string& brokers, const std::string& topic, std::size_t count, std::size_t bytes) {
  const auto events = make_events(bytes);
  Producer producer(brokers, topic);
  const double cpu_before = cpu_seconds();
  const auto begin = Clock::now();
  std::size_t acknowledged = 0;
  for (std::size_t i = 0; i < count; ++i) {
    producer.produce(events[i % events.size()]);
    if (i % 1024 == 0) acknowledged += producer.poll(0);
  }
  const auto deadline = Clock::now() + std::chrono::milliseconds(kAnswerMaxMs);
  while (acknowledged < count) {
    if (Clock::now() > deadline) throw std::runtime_error("the broker does not acknowledge");
    acknowledged += producer.poll(100);
  }
  const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
  fmt::print("{{\"seconds\": {:.6f}, \"cpu_seconds\": {:.6f}}}\n", elapsed, cpu_seconds() - cpu_before);
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    fmt::print(stderr, "usage: bench_produce BROKERS TOPIC COUNT BYTES\n");
    return 2;
  }
  try {
    run(words[1], words[2], std::stoul(words[3]), std::stoul(words[4]));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_produce: {}\n", error.what());
    return 1;
  }
}
