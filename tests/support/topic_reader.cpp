#include "tests/support/topic_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tests/support/kafka_client.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr milliseconds kEndPatience = seconds(10);
constexpr int kPollMs = 50;

std::optional<std::string> bytes(const void* data, std::size_t size) {
  if (data == nullptr) return std::nullopt;
  return std::string(static_cast<const char*>(data), size);
}

TopicRecord to_record(const rd_kafka_message_t& message) {
  TopicRecord record;
  record.partition = message.partition;
  record.offset = message.offset;
  record.key = bytes(message.key, message.key_len);
  record.value = bytes(message.payload, message.len);
  record.timestamp_ms = rd_kafka_message_timestamp(&message, nullptr);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return record;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    record.headers.emplace_back(name, bytes(value, size));
  }
  return record;
}

}  // namespace

std::optional<std::string> TopicRecord::header(const std::string& name) const {
  const auto found =
      std::find_if(headers.begin(), headers.end(), [&](const auto& entry) { return entry.first == name; });
  return found == headers.end() ? std::nullopt : found->second;
}

struct TopicReader::Consumer {
  KafkaHandle<rd_kafka_t> client;
  std::string topic;
  std::vector<std::int64_t> next_offsets;  // by partition

  // The next record, if one comes within kPollMs.
  std::optional<TopicRecord> poll() {
    const KafkaHandle<rd_kafka_message_t> message(rd_kafka_consumer_poll(client.get(), kPollMs));
    if (!message) return std::nullopt;
    const auto partition = static_cast<std::size_t>(message->partition);
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      // The end may lie beyond the last record: marks of transactions take offsets too.
      next_offsets.at(partition) = std::max(next_offsets.at(partition), message->offset);
      return std::nullopt;
    }
    // An outage is part of many tests; the client goes on by itself.
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
    next_offsets.at(partition) = message->offset + 1;
    return to_record(*message);
  }

  // Asks until it is answered: a new partition's leader is known a moment before it leads.
  [[nodiscard]] std::int64_t end_offset(std::int32_t partition) const {
    std::int64_t low = 0;
    std::int64_t high = 0;
    rd_kafka_resp_err_t error{};
    const bool answered = wait_until(kEndPatience, [&] {
      error = rd_kafka_query_watermark_offsets(client.get(), topic.c_str(), partition, &low, &high,
                                               static_cast<int>(kEndPatience.count()));
      return error == RD_KAFKA_RESP_ERR_NO_ERROR;
    });
    if (answered) return high;
    throw std::runtime_error(fmt::format("the end of {}/{}: {}", topic, partition, rd_kafka_err2str(error)));
  }

  [[nodiscard]] std::vector<std::int64_t> end_offsets() const {
    std::vector<std::int64_t> ends;
    for (std::size_t partition = 0; partition < next_offsets.size(); ++partition) {
      ends.push_back(end_offset(static_cast<std::int32_t>(partition)));
    }
    return ends;
  }
};

TopicReader::TopicReader(const std::string& broker, const std::string& topic, milliseconds at_most)
    : consumer_(std::make_unique<Consumer>()) {
  // A group is required by the library even where, as here, none is joined.
  consumer_->client = kafka_client(RD_KAFKA_CONSUMER, broker,
                                   {{"group.id", unique_name()},
                                    {"enable.auto.commit", "false"},
                                    {"auto.offset.reset", "earliest"},
                                    {"enable.partition.eof", "true"},
                                    {"fetch.wait.max.ms", "50"},
                                    {"fetch.error.backoff.ms", "50"}});
  consumer_->topic = topic;
  rd_kafka_t* client = consumer_->client.get();
  rd_kafka_poll_set_consumer(client);
  int partitions = 0;
  if (!wait_until(at_most, [&] { return (partitions = ready_partitions(client, topic)) > 0; })) {
    throw std::runtime_error(fmt::format("the topic {} does not appear on {}", topic, broker));
  }
  consumer_->next_offsets.assign(static_cast<std::size_t>(partitions), 0);
  const KafkaHandle<rd_kafka_topic_partition_list_t> list(rd_kafka_topic_partition_list_new(partitions));
  for (int partition = 0; partition < partitions; ++partition) {
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = RD_KAFKA_OFFSET_BEGINNING;
  }
  if (const auto error = rd_kafka_assign(client, list.get()); error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error(fmt::format("reading {}: {}", topic, rd_kafka_err2str(error)));
  }
}

TopicReader::~TopicReader() { rd_kafka_consumer_close(consumer_->client.get()); }

std::vector<TopicRecord> TopicReader::read(std::size_t count, milliseconds at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  std::vector<TopicRecord> records;
  while (records.size() < count && std::chrono::steady_clock::now() < deadline) {
    if (auto record = consumer_->poll()) records.push_back(std::move(*record));
  }
  return records;
}

std::vector<TopicRecord> TopicReader::read_to_end(milliseconds at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  const auto ends = consumer_->end_offsets();
  const auto& reached = consumer_->next_offsets;
  std::vector<TopicRecord> records;
  while (!std::equal(ends.begin(), ends.end(), reached.begin(), [](auto end, auto next) { return next >= end; })) {
    if (std::chrono::steady_clock::now() >= deadline) {
      throw std::runtime_error(
          fmt::format("{}: the end is not reached after {} records", consumer_->topic, records.size()));
    }
    if (auto record = consumer_->poll()) records.push_back(std::move(*record));
  }
  return records;
}

}  // namespace walrelay::test
