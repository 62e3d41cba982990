#pragma once
// A refused event, taken back out of its delivery report.

#include <librdkafka/rdkafka.h>

#include "sinks/sink.h"

namespace walrelay {

// Copies everything; `message` belongs to its event.
[[nodiscard]] FailedEvent make_failed_event(const rd_kafka_message_t& message);

// The record's own time, which librdkafka does not tell of a message with an error; `message` belongs to its event.
[[nodiscard]] std::int64_t kafka_timestamp(const rd_kafka_message_t& message);

// "broker refused ...": topic, size, reason and remedy in one line.
[[nodiscard]] std::string kafka_refusal(std::string_view topic, std::size_t bytes, rd_kafka_resp_err_t error,
                                        std::string_view reason);

}  // namespace walrelay
