#include "sinks/kafka_resender.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>

#include "sinks/kafka_errors.h"
#include "sinks/kafka_failed_event.h"
#include "sinks/kafka_record.h"
#include "sinks/sink_error.h"

namespace walrelay {
namespace {

struct FreeList {
  void operator()(rd_kafka_topic_partition_list_t* list) const { rd_kafka_topic_partition_list_destroy(list); }
};
using ListHandle = std::unique_ptr<rd_kafka_topic_partition_list_t, FreeList>;

ListHandle list_of(const std::string& topic, std::int32_t partition) {
  ListHandle list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition);
  return list;
}

void resume(rd_kafka_t* main, const std::string& topic, std::int32_t partition) {
  rd_kafka_resume_partitions(main, list_of(topic, partition).get());
  rd_kafka_flush(main, 0);  // waits for nothing, but wakes the threads that send: resuming does not
}

NullableBytes viewed(const void* data, std::size_t size) {
  if (data == nullptr) return std::nullopt;
  return std::string_view(static_cast<const char*>(data), size);
}

KafkaHeadersHandle copied_headers(const rd_kafka_message_t& message) {
  rd_kafka_headers_t* headers = nullptr;  // stays the message's
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return nullptr;
  return KafkaHeadersHandle(rd_kafka_headers_copy(headers));
}

std::size_t bytes_of(const std::vector<const rd_kafka_message_t*>& messages) {
  std::size_t bytes = 0;
  for (const auto* message : messages) bytes += message->len + message->key_len;
  return bytes;
}

}  // namespace

KafkaResender::KafkaResender(KafkaProperties properties, int wakeup_fd)
    : properties_(std::move(properties)), wakeup_fd_(wakeup_fd) {
  properties_.emplace_back("linger.ms", "0");  // a record that is to be alone need not wait for others
}

KafkaResender::Partition& KafkaResender::paused(rd_kafka_t* main, const rd_kafka_message_t& refused) {
  Name name{rd_kafka_topic_name(refused.rkt), refused.partition};
  const auto [found, is_new] = partitions_.try_emplace(name);
  if (is_new) rd_kafka_pause_partitions(main, list_of(name.first, name.second).get());
  return found->second;
}

void KafkaResender::take_over(rd_kafka_t* main, KafkaEventHandle event,
                              std::vector<const rd_kafka_message_t*> refused) {
  Partition& partition = paused(main, *refused.front());
  partition.batches.push_back({.event = std::move(event), .messages = std::move(refused)});
  send_next(partition);
}

void KafkaResender::stop_behind(rd_kafka_t* main, const rd_kafka_message_t& refused) {
  if (refused.partition == RD_KAFKA_PARTITION_UA) return;  // of a topic that does not exist: nothing of it is sent
  paused(main, refused).waits = true;
}

void KafkaResender::go_on(rd_kafka_t* main) {
  for (auto it = partitions_.begin(); it != partitions_.end();) {
    auto& [name, partition] = *it;
    if (!partition.held) partition.waits = false;
    send_next(partition);
    if (partition.held || !partition.batches.empty()) {
      ++it;
    } else {
      resume(main, name.first, name.second);
      it = partitions_.erase(it);
    }
  }
}

void KafkaResender::hold() {
  for (auto& [name, partition] : partitions_) partition.held = partition.held || partition.waits;
}

void KafkaResender::send_next(Partition& partition) {
  if (partition.batches.empty() || partition.under_way || partition.waits || failure_) return;
  const Batch& batch = partition.batches.front();
  const rd_kafka_message_t& original = *batch.messages[batch.settled];
  try {
    if (!own_) own_.emplace(properties_, std::numeric_limits<std::size_t>::max(), wakeup_fd_);
  } catch (const SinkConfigError& error) {
    failure_ = error.what();
    return;
  }
  if (!partition.topic) {
    partition.topic.reset(rd_kafka_topic_new(own_->client(), rd_kafka_topic_name(original.rkt), nullptr));
  }
  const KafkaRecord record{.topic = partition.topic.get(),
                           .partition = original.partition,
                           .key = viewed(original.key, original.key_len),
                           .value = viewed(original.payload, original.len),
                           .timestamp_ms = kafka_timestamp(original),
                           .opaque = &partition};
  const auto error = produce_record(own_->client(), record, copied_headers(original));
  partition.under_way = error == RD_KAFKA_RESP_ERR_NO_ERROR;
  if (partition.under_way || error == RD_KAFKA_RESP_ERR__QUEUE_FULL) return;
  failure_ = fmt::format("cannot send a record of a refused batch for topic \"{}\" again: {}",
                         rd_kafka_topic_name(original.rkt), rd_kafka_err2str(error));
}

Tag KafkaResender::settle(const rd_kafka_message_t& report, bool refused) {
  Partition& partition = *static_cast<Partition*>(report._private);
  Batch& batch = partition.batches.front();
  const Tag tag = kafka_tag(*batch.messages[batch.settled++]);
  partition.under_way = false;
  partition.waits = partition.waits || refused;
  batch.refused_alone = batch.refused_alone || refused;
  if (batch.settled == batch.messages.size()) finish_batch(partition);
  send_next(partition);
  return tag;
}

void KafkaResender::finish_batch(Partition& partition) {
  const Batch& batch = partition.batches.front();
  const bool too_large = kafka_failure_class(batch.messages.front()->err) == FailureClass::too_large;
  if (too_large && !batch.refused_alone) oversized_ = bytes_of(batch.messages);
  partition.batches.pop_front();
}

}  // namespace walrelay
