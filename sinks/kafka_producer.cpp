#include "sinks/kafka_producer.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

namespace walrelay {
namespace {

std::size_t limit_batches(rd_kafka_conf_t* conf, std::size_t at_most) {
  const std::string configured = kafka_conf_value(conf, "batch.size");
  std::size_t size = at_most;
  std::from_chars(configured.data(), configured.data() + configured.size(), size);
  if (size <= at_most) return size;
  rd_kafka_conf_set(conf, "batch.size", std::to_string(at_most).c_str(), nullptr, 0);
  return at_most;
}

bool gives_linger(const KafkaProperties& properties) {
  return !kafka_property(properties, "linger.ms").empty() ||
         !kafka_property(properties, "queue.buffering.max.ms").empty();
}

}  // namespace

KafkaProducer::KafkaProducer(const KafkaProperties& properties, std::size_t batch_size_max, int wakeup_fd)
    : KafkaProducer(make_kafka_conf(properties), gives_linger(properties), batch_size_max, wakeup_fd) {}

KafkaProducer::KafkaProducer(KafkaConfHandle conf, bool linger_given, std::size_t batch_size_max, int wakeup_fd)
    : batch_size_(limit_batches(conf.get(), batch_size_max)),
      compresses_(kafka_conf_value(conf.get(), "compression.codec") != "none"),
      creates_topics_(kafka_conf_value(conf.get(), "allow.auto.create.topics") != "false"),
      client_(make_kafka_client(std::move(conf))),
      queue_(rd_kafka_queue_get_main(client_.get())),
      topics_(client_.get(), queue_.get()) {
  rd_kafka_set_log_queue(client_.get(), nullptr);  // nullptr: the main queue
  wake_up_by(wakeup_fd, queue_.get());
  if (!linger_given) flusher_.emplace(client_.get());
}

void KafkaProducer::let_linger(bool allowed) {
  if (!flusher_) return;
  if (allowed) {
    flusher_->rest();
  } else {
    flusher_->flush();
  }
}

void KafkaProducer::keep(KafkaEventHandle report, std::size_t messages) {
  kept_report_ = std::move(report);
  kept_messages_ = messages;
}

std::size_t KafkaProducer::queued() const {
  return static_cast<std::size_t>(rd_kafka_outq_len(client_.get())) - kept_messages_;
}

}  // namespace walrelay
