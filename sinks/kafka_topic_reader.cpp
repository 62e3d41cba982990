#include "sinks/kafka_topic_reader.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "sinks/sink_error.h"

namespace walrelay {
namespace {

KafkaClientHandle make_reading_client(const KafkaProperties& properties) {
  KafkaConfHandle conf = make_kafka_conf(properties);
  const auto set = [&](const char* name, const char* value) { rd_kafka_conf_set(conf.get(), name, value, nullptr, 0); };
  set("enable.partition.eof", "true");
  set("auto.offset.reset", "error");  // a record that is gone while it is read is not to be jumped over silently
  set("allow.auto.create.topics", "false");
  set("isolation.level", "read_committed");
  set("queued.max.messages.kbytes", "16384");
  set("log_level", "3");  // it would tell that it has no use for a producer's properties
  return make_kafka_client(std::move(conf), RD_KAFKA_CONSUMER);
}

NullableBytes bytes_of(const void* data, std::size_t size) {
  if (data == nullptr) return std::nullopt;
  return std::string_view(static_cast<const char*>(data), size);
}

void take_headers(const rd_kafka_message_t& message, std::vector<EventHeader>& headers) {
  headers.clear();
  rd_kafka_headers_t* list = nullptr;
  if (rd_kafka_message_headers(&message, &list) != RD_KAFKA_RESP_ERR_NO_ERROR) return;  // it has none
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(list, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
    headers.push_back({name, bytes_of(value, size)});
  }
}

}  // namespace

KafkaTopicReader::KafkaTopicReader(const KafkaProperties& properties, const std::string& topic,
                                   std::chrono::milliseconds at_most)
    : name_(topic),
      client_(make_reading_client(properties)),
      queue_(rd_kafka_queue_new(client_.get())),
      topic_(rd_kafka_topic_new(client_.get(), topic.c_str(), nullptr)) {
  find_partitions(at_most);
  for (std::size_t i = 0; i < partitions_.size(); ++i) start(static_cast<std::int32_t>(i), at_most);
}

KafkaTopicReader::~KafkaTopicReader() {
  for (std::size_t i = 0; i < partitions_.size(); ++i) close(static_cast<std::int32_t>(i));
}

void KafkaTopicReader::find_partitions(std::chrono::milliseconds at_most) {
  const rd_kafka_metadata_t* found = nullptr;
  auto error = rd_kafka_metadata(client_.get(), 0, topic_.get(), &found, static_cast<int>(at_most.count()));
  const KafkaMetadataHandle metadata(found);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR && metadata->topic_cnt == 1) error = metadata->topics[0].err;
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw SinkOpenError(fmt::format("topic \"{}\" cannot be read: {}", name_, rd_kafka_err2str(error)));
  }
  partitions_.resize(static_cast<std::size_t>(metadata->topics[0].partition_cnt));
}

void KafkaTopicReader::start(std::int32_t partition, std::chrono::milliseconds at_most) {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  auto error = rd_kafka_query_watermark_offsets(client_.get(), name_.c_str(), partition, &begin, &end,
                                                static_cast<int>(at_most.count()));
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR && end > begin &&
      rd_kafka_consume_start_queue(topic_.get(), partition, begin, queue_.get()) != 0) {
    error = rd_kafka_last_error();
  }
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw SinkOpenError(
        fmt::format("topic \"{}\", partition {}, cannot be read: {}", name_, partition, rd_kafka_err2str(error)));
  }
  if (end == begin) return;
  partitions_[static_cast<std::size_t>(partition)] = {end, true};
  ++open_;
  records_max_ += static_cast<std::uint64_t>(end - begin);
}

void KafkaTopicReader::close(std::int32_t partition) {
  if (!std::exchange(partitions_[static_cast<std::size_t>(partition)].open, false)) return;
  rd_kafka_consume_stop(topic_.get(), partition);
  --open_;
}

const TopicRecord* KafkaTopicReader::next(std::chrono::milliseconds at_most) {
  message_.reset(at_end() ? nullptr : rd_kafka_consume_queue(queue_.get(), static_cast<int>(at_most.count())));
  rd_kafka_poll(client_.get(), 0);
  return message_ ? take(*message_) : nullptr;
}

const TopicRecord* KafkaTopicReader::take(const rd_kafka_message_t& message) {
  const auto& partition = partitions_[static_cast<std::size_t>(message.partition)];
  if (message.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    close(message.partition);
    return nullptr;
  }
  if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw SinkOpenError(fmt::format("topic \"{}\" cannot be read: {}", name_, rd_kafka_message_errstr(&message)));
  }
  if (message.offset >= partition.end) {
    close(message.partition);
    return nullptr;
  }
  record_.key = bytes_of(message.key, message.key_len);
  record_.value = bytes_of(message.payload, message.len);
  record_.timestamp_ms = rd_kafka_message_timestamp(&message, nullptr);
  take_headers(message, record_.headers);
  return &record_;
}

}  // namespace walrelay
