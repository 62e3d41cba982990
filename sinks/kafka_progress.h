#pragma once
// Reads the progress records of one key from a compacted topic, which it makes if it is not there.
//
// The topic has one partition; writers name it, so that records of one key have one order. Read are the last records
// first, and the whole topic only if the key is not among them: a compacted topic is small but for what was not
// compacted yet. The reader is a client of its own, since a producer cannot read; it needs no consumer group. Thread:
// the loop thread; nothing blocks but its end, for the moment that the client's threads take to end.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "sinks/kafka_handles.h"
#include "sinks/kafka_options.h"
#include "sinks/sink.h"

namespace walrelay {

inline constexpr std::int32_t kProgressPartition = 0;

class KafkaProgressReader {
 public:
  // `wakeup_fd`: as for KafkaProducer. Throws SinkConfigError.
  KafkaProgressReader(const KafkaProperties& properties, std::string topic, std::string key, int wakeup_fd);
  KafkaProgressReader(const KafkaProgressReader&) = delete;
  KafkaProgressReader& operator=(const KafkaProgressReader&) = delete;
  ~KafkaProgressReader();

  // Takes in what has come. Not to be called again after an answer that is not pending.
  [[nodiscard]] StoredProgress step();

 private:
  enum class Phase : std::uint8_t { making_topic, reading_last, reading_all };

  void make_topic();
  StoredProgress take_in(rd_kafka_event_t* event);
  StoredProgress topic_made(rd_kafka_event_t* event);
  StoredProgress start_reading(Phase phase);
  void stop_reading();
  StoredProgress take_message(const rd_kafka_message_t& message);
  StoredProgress read_to_end();
  StoredProgress take_error(rd_kafka_resp_err_t error);
  [[nodiscard]] StoredProgress refused(std::string_view what, rd_kafka_resp_err_t error) const;

  std::string name_;
  std::string key_;
  Phase phase_ = Phase::making_topic;
  bool reading_ = false;
  rd_kafka_resp_err_t not_made_ = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::deque<std::string> records_;
  KafkaClientHandle client_;
  KafkaQueueHandle queue_;
  KafkaTopicHandle topic_;
};

}  // namespace walrelay
