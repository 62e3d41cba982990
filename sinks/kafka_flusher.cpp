#include "sinks/kafka_flusher.h"

namespace walrelay {

KafkaFlusher::KafkaFlusher(rd_kafka_t* client) : client_(client), thread_([this] { run(); }) {}

KafkaFlusher::~KafkaFlusher() {
  wish_ = Wish::end;
  wish_.notify_one();
  thread_.join();
}

void KafkaFlusher::flush() {
  if (wish_.load(std::memory_order_relaxed) == Wish::flush) return;
  wish_ = Wish::flush;
  wish_.notify_one();
}

void KafkaFlusher::rest() {
  if (wish_.load(std::memory_order_relaxed) == Wish::flush) wish_ = Wish::rest;
}

void KafkaFlusher::run() {
  while (true) {
    wish_.wait(Wish::rest);
    if (wish_ == Wish::end) return;
    if (rd_kafka_flush(client_, kTurnMs) == RD_KAFKA_RESP_ERR__TIMED_OUT) continue;
    auto done = Wish::flush;
    wish_.compare_exchange_strong(done, Wish::rest);
  }
}

}  // namespace walrelay
