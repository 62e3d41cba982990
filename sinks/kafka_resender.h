#pragma once
// Keeps the order around refusals.
//
// A broker refuses a whole batch for one record. The records of a refused batch are sent again one by one, each alone
// in its batch and in their order, so that in the end only the record that is refused alone counts as refused.
//
// Meanwhile the partition is paused in the producer that the batch came from (the main one): what is queued behind it,
// and what is submitted, waits there, while other partitions go on. What was on its way before the refusal was known
// may be stored before it. The records travel by a producer of its own, made when it is first needed: in the main one
// they would stand behind what waits. After each refusal the partition also waits until the caller knows of it: see
// go_on() and hold().
//
// Thread: the loop thread. Pausing and resuming wait for librdkafka's main thread, which itself waits for nothing.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sinks/kafka_handles.h"
#include "sinks/kafka_options.h"
#include "sinks/kafka_producer.h"
#include "sinks/sink.h"

namespace walrelay {

class KafkaResender {
 public:
  // `properties`: of the main producer. `wakeup_fd`: as in KafkaProducer.
  KafkaResender(KafkaProperties properties, int wakeup_fd);

  // Takes over the records of a refused batch: `refused` are messages of `event`, which is a report of `main`.
  void take_over(rd_kafka_t* main, KafkaEventHandle event, std::vector<const rd_kafka_message_t*> refused);
  // This one was refused for good: pauses its partition until go_on().
  void stop_behind(rd_kafka_t* main, const rd_kafka_message_t& refused);

  // The caller knows of every refusal: what waits for that goes on.
  void go_on(rd_kafka_t* main);
  // What waits for go_on() now waits for ever: nothing behind those refused is sent.
  void hold();

  // Of its own producer; nullptr if there is none.
  [[nodiscard]] KafkaEventHandle next_event() const { return own_ ? own_->next_event() : nullptr; }
  // For a message in a report of its own producer: the tag of the record that it stands for. `refused`: for good.
  [[nodiscard]] Tag settle(const rd_kafka_message_t& report, bool refused);

  // Bytes of a batch that was refused for its size although each of its records fits; 0 if there was none. Told once.
  [[nodiscard]] std::size_t take_oversized() { return std::exchange(oversized_, 0); }
  // Why a record could not even be handed to its producer, which ends the sink.
  [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }

 private:
  struct Batch {
    KafkaEventHandle event;  // owns the messages
    std::vector<const rd_kafka_message_t*> messages;
    std::size_t settled = 0;
    bool refused_alone = false;  // one of them was
  };
  struct Partition {
    KafkaTopicHandle topic;  // of own_, made with the first record
    std::deque<Batch> batches;
    bool under_way = false;  // the first record that is not settled
    bool waits = false;      // for go_on()
    bool held = false;
  };
  using Name = std::pair<std::string, std::int32_t>;  // topic, partition

  Partition& paused(rd_kafka_t* main, const rd_kafka_message_t& refused);
  void send_next(Partition& partition);
  void finish_batch(Partition& partition);

  KafkaProperties properties_;
  int wakeup_fd_;
  std::optional<KafkaProducer> own_;
  std::map<Name, Partition> partitions_;  // after own_: its topics and events go first
  std::size_t oversized_ = 0;
  std::optional<std::string> failure_;
};

}  // namespace walrelay
