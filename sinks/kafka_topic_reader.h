#pragma once
// Reads a topic from its beginning to the end that it has now, partition by partition side by side. A client of its
// own, without a consumer group: it leaves nothing behind at the broker. Blocks, for commands; thread: one.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decoder/outbox_event.h"
#include "sinks/kafka_handles.h"
#include "sinks/kafka_options.h"

namespace walrelay {

struct KafkaMessageFree {
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
};

// Points into the reader; valid until its next call.
struct TopicRecord {
  NullableBytes key;
  NullableBytes value;
  std::vector<EventHeader> headers;
  std::int64_t timestamp_ms = 0;
};

class KafkaTopicReader {
 public:
  // `properties` as for the producer. Asks for the topic's partitions and their ends, and waits at most that long for
  // each. Throws SinkConfigError, and SinkOpenError if the topic does not exist or no broker answers.
  KafkaTopicReader(const KafkaProperties& properties, const std::string& topic, std::chrono::milliseconds at_most);
  KafkaTopicReader(const KafkaTopicReader&) = delete;
  KafkaTopicReader& operator=(const KafkaTopicReader&) = delete;
  ~KafkaTopicReader();

  // At most so many records are to come.
  [[nodiscard]] std::uint64_t records_max() const { return records_max_; }
  [[nodiscard]] bool at_end() const { return open_ == 0; }
  // Waits at most that long; nothing if none came, or at the end. Throws SinkOpenError if the broker refuses.
  [[nodiscard]] const TopicRecord* next(std::chrono::milliseconds at_most);

 private:
  struct Partition {
    std::int64_t end = 0;  // offset after the last record that is wanted
    bool open = false;
  };

  void find_partitions(std::chrono::milliseconds at_most);
  void start(std::int32_t partition, std::chrono::milliseconds at_most);
  void close(std::int32_t partition);
  const TopicRecord* take(const rd_kafka_message_t& message);

  std::string name_;
  std::vector<Partition> partitions_;
  std::size_t open_ = 0;
  std::uint64_t records_max_ = 0;
  TopicRecord record_;
  KafkaClientHandle client_;
  KafkaQueueHandle queue_;
  KafkaTopicHandle topic_;
  std::unique_ptr<rd_kafka_message_t, KafkaMessageFree> message_;
};

}  // namespace walrelay
