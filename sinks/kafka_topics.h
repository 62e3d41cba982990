#pragma once
// The topics that a producer has met: handles by name, and what a broker has said of them.
//
// A topic's configuration is asked for at its first use, without blocking; the answer is an event of the producer's
// queue. It tells whether the topic exists and how large a record it takes before the first record is sent, where
// librdkafka's own report of a missing topic would take its time. A broker that refuses the question (rights, version)
// has answered too: the topic is then used unseen, as it is where no answer comes although a broker does (the mock
// cluster has no controller to ask).
//
// Before any broker has been reached nothing is produced: librdkafka counts the time for which a topic may stay unknown
// from the making of its handle, so that one made during an outage would be refused by the first answer, even if that
// answer creates it. For the same reason missing topics are left to the brokers one at a time: they may need longer for
// a hundred than librdkafka waits for the last one. Thread: the loop thread.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sinks/kafka_handles.h"

namespace walrelay {

struct KafkaTopic {
  KafkaTopicHandle handle;  // made with the first record
  bool asked = false;       // an answer is under way
  bool settled = false;     // need not wait for an answer
  bool fresh = false;       // answered, and no record sent since
  bool missing = false;     // when it was answered
  bool tried_to_make = false;
  bool left_to_brokers = false;
  std::optional<std::size_t> max_message_bytes;
};

class KafkaTopics {
 public:
  // Both must outlive this.
  KafkaTopics(rd_kafka_t* client, rd_kafka_queue_t* queue) : client_(client), queue_(queue) {}

  // nullptr if it was never added. No allocation. References stay valid.
  [[nodiscard]] KafkaTopic* find(std::string_view name);
  KafkaTopic& add(std::string_view name);

  // The handle to produce with; nullptr if librdkafka refuses the name.
  [[nodiscard]] rd_kafka_topic_t* handle(KafkaTopic& topic, std::string_view name) const;

  // Asks a broker for the topic's configuration, unless that is under way.
  void ask(KafkaTopic& topic, std::string_view name);

  // Asks a broker to make the topic for records of at most so many bytes. Once for each topic.
  void make(KafkaTopic& topic, std::string_view name, std::size_t max_message_bytes);

  // Takes an event of type RD_KAFKA_EVENT_CREATETOPICS_RESULT; a line for people.
  static std::string take_made(rd_kafka_event_t* event);

  // Whether something may be produced to a topic that is missing, for the brokers to make it. If not, another one is
  // being made, and is asked about anew.
  [[nodiscard]] bool may_be_made(const KafkaTopic& topic, std::string_view name);
  // What was produced to it was refused: no other one is to wait for it any longer.
  void not_made(std::string_view name);

  // Takes an event of type RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT; true if a broker has answered.
  bool take_answer(rd_kafka_event_t* event);

  // Whether any broker has ever been reached.
  [[nodiscard]] bool has_contact();

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };

  rd_kafka_t* client_;
  rd_kafka_queue_t* queue_;
  bool contact_ = false;
  bool answers_come_ = true;
  std::unordered_map<std::string, KafkaTopic, Hash, std::equal_to<>> topics_;
  decltype(topics_)::value_type* being_made_ = nullptr;  // of them, by the brokers
};

}  // namespace walrelay
