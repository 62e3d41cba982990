#pragma once
// What librdkafka's error codes mean for an event. Pure functions.

#include <librdkafka/rdkafka.h>

#include <string>
#include <string_view>

#include "sinks/sink.h"

namespace walrelay {

// The class of a refusal, for a broker's answer or for what librdkafka finds out itself before it sends.
[[nodiscard]] FailureClass kafka_failure_class(rd_kafka_resp_err_t error);

// Delivered is: no error and persisted. An error says "certainly not stored" only if it is an answer of the broker or
// of librdkafka to this very record and its status agrees; anything else (purged, possibly persisted, destroyed, an
// answer about the producer) leaves the event in doubt.
[[nodiscard]] DeliveryStatus kafka_delivery_status(rd_kafka_resp_err_t error, rd_kafka_msg_status_t status);

// Whether this refusal of a batch may concern one of its records alone, so that the others are worth another try. A
// missing topic or right concerns them all.
[[nodiscard]] bool kafka_refuses_one_record(rd_kafka_resp_err_t error);

// What to do about a refusal of this class, to follow the reason; "" if there is nothing general to say.
[[nodiscard]] std::string_view kafka_remedy(rd_kafka_resp_err_t error);

// The same for a connection, of which there always is something to say.
[[nodiscard]] std::string_view kafka_connection_remedy(rd_kafka_resp_err_t error);

// Whether an error of the client means that a broker cannot be reached or does not let us in.
[[nodiscard]] bool is_connection_error(rd_kafka_resp_err_t error);

// librdkafka's text without what it appends for its own developers: " (after 0ms in state CONNECT, 3 identical error(s)
// suppressed)".
[[nodiscard]] std::string_view without_broker_state(std::string_view text);

}  // namespace walrelay
