#include "sinks/kafka_failed_event.h"

#include <fmt/format.h>

#include <utility>

#include "sinks/kafka_errors.h"

namespace walrelay {
namespace {

std::optional<std::string> copy_bytes(const void* data, std::size_t size) {
  if (data == nullptr) return std::nullopt;
  return std::string(static_cast<const char*>(data), size);
}

void copy_headers(const rd_kafka_message_t& message, FailedEvent& failed) {
  rd_kafka_headers_t* headers = nullptr;  // stays the message's
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    failed.headers.emplace_back(name, copy_bytes(value, size));
  }
}

}  // namespace

// It has the time, but answers -1 for any message with an error. The message is ours alone while its event lives.
std::int64_t kafka_timestamp(const rd_kafka_message_t& message) {
  auto& writable = const_cast<rd_kafka_message_t&>(message);
  const auto error = std::exchange(writable.err, RD_KAFKA_RESP_ERR_NO_ERROR);
  const std::int64_t timestamp = rd_kafka_message_timestamp(&message, nullptr);
  writable.err = error;
  return timestamp;
}

std::string kafka_refusal(std::string_view topic, std::size_t bytes, rd_kafka_resp_err_t error,
                          std::string_view reason) {
  const auto remedy = kafka_remedy(error);
  return fmt::format("Kafka refused an event of {} bytes for topic \"{}\": {} ({}){}{}", bytes, topic, reason,
                     rd_kafka_err2name(error), remedy.empty() ? "" : "; ", remedy);
}

FailedEvent make_failed_event(const rd_kafka_message_t& message) {
  FailedEvent failed;
  failed.topic = rd_kafka_topic_name(message.rkt);
  failed.key = copy_bytes(message.key, message.key_len);
  failed.value = copy_bytes(message.payload, message.len);
  copy_headers(message, failed);
  failed.timestamp_ms = kafka_timestamp(message);
  failed.rejection.failure_class = kafka_failure_class(message.err);
  failed.rejection.reason =
      kafka_refusal(failed.topic, message.len + message.key_len, message.err, rd_kafka_err2str(message.err));
  return failed;
}

}  // namespace walrelay
