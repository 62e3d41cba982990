#pragma once
// Has a producer send at once what it holds, for as long as that is wanted, although it is configured to linger.
//
// A linger that suits a backlog (large batches, few requests) is a delay for a lone event, and librdkafka cannot change
// it once a producer runs. But nothing lingers while a call of rd_kafka_flush() waits (rdkafka.h). It waits here, on a
// thread that does nothing else. Thread: all calls on the loop thread.

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace walrelay {

class KafkaFlusher {
 public:
  // `client` stays the caller's and must outlive this.
  explicit KafkaFlusher(rd_kafka_t* client);
  KafkaFlusher(const KafkaFlusher&) = delete;
  KafkaFlusher& operator=(const KafkaFlusher&) = delete;
  ~KafkaFlusher();  // waits up to kTurnMs where something is in flight

  // To be repeated for as long as it is wanted and something is in flight: with nothing to wait for it ends by itself.
  void flush();
  // What is submitted lingers again, within kTurnMs.
  void rest();

 private:
  static constexpr int kTurnMs = 100;

  enum class Wish : std::uint8_t { rest, flush, end };

  void run();

  rd_kafka_t* client_;
  std::atomic<Wish> wish_ = Wish::rest;
  std::thread thread_;
};

}  // namespace walrelay
