#pragma once
// A producer's handles, to be replaced as one: with the events that make KafkaSink's reports, and the topics it has
// met.

#include <cstddef>
#include <optional>

#include "sinks/kafka_flusher.h"
#include "sinks/kafka_handles.h"
#include "sinks/kafka_options.h"
#include "sinks/kafka_topics.h"

namespace walrelay {

class KafkaProducer {
 public:
  // `wakeup_fd` is written eight bytes to, in host order the number 1, when the queue is no longer empty; it must
  // outlive this. `batch_size_max`: bytes; a batch is never larger than that, nor than the property batch.size. Throws
  // SinkConfigError.
  KafkaProducer(const KafkaProperties& properties, std::size_t batch_size_max, int wakeup_fd);

  [[nodiscard]] rd_kafka_t* client() const { return client_.get(); }
  [[nodiscard]] KafkaTopics& topics() { return topics_; }
  // nullptr if there is none.
  [[nodiscard]] KafkaEventHandle next_event() const { return KafkaEventHandle(rd_kafka_queue_poll(queue_.get(), 0)); }

  // Whether events may wait for others to go with, as linger.ms allows, or are sent at once. The first, until told
  // otherwise; `false` is to be repeated while events are in flight. Where linger.ms was given, it holds for all.
  void let_linger(bool allowed);
  // A report that has been read, kept until the next one: while there is a message left, flushing goes on by itself.
  void keep(KafkaEventHandle report, std::size_t messages);
  // Messages, requests and reports in its queues.
  [[nodiscard]] std::size_t queued() const;

  [[nodiscard]] std::size_t batch_size() const { return batch_size_; }
  [[nodiscard]] bool compresses() const { return compresses_; }
  [[nodiscard]] bool creates_topics() const { return creates_topics_; }

 private:
  KafkaProducer(KafkaConfHandle conf, bool linger_given, std::size_t batch_size_max, int wakeup_fd);

  // Read before the client takes the configuration.
  std::size_t batch_size_;
  bool compresses_;
  bool creates_topics_;
  KafkaClientHandle client_;
  KafkaQueueHandle queue_;
  KafkaTopics topics_;
  std::optional<KafkaFlusher> flusher_;
  KafkaEventHandle kept_report_;
  std::size_t kept_messages_ = 0;
};

}  // namespace walrelay
