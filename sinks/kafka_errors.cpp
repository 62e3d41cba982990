#include "sinks/kafka_errors.h"

namespace walrelay {
namespace {

// RD_KAFKA_RESP_ERR__INVALID_DIFFERENT_RECORD of librdkafka 2.8: refused for another record of its batch.
constexpr auto kOtherRecordRefused = static_cast<rd_kafka_resp_err_t>(-138);

// Errors of librdkafka itself that are a final answer to one record: raised before it is sent, or in place of the
// broker's.
bool is_local_refusal(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC || error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
         error == kOtherRecordRefused;
}

// The broker does not know this producer any more, or another has taken its place: no event is to blame.
bool concerns_producer(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER || error == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH ||
         error == RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID || error == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING ||
         error == RD_KAFKA_RESP_ERR_PRODUCER_FENCED;
}

}  // namespace

FailureClass kafka_failure_class(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
      return FailureClass::too_large;
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return FailureClass::topic;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      return FailureClass::authorization;
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
      return FailureClass::timestamp;
    default:
      return FailureClass::rejected;
  }
}

bool kafka_refuses_one_record(rd_kafka_resp_err_t error) {
  const auto failure_class = kafka_failure_class(error);
  return failure_class != FailureClass::topic && failure_class != FailureClass::authorization;
}

DeliveryStatus kafka_delivery_status(rd_kafka_resp_err_t error, rd_kafka_msg_status_t status) {
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    return status == RD_KAFKA_MSG_STATUS_PERSISTED ? DeliveryStatus::persisted : DeliveryStatus::in_doubt;
  }
  const bool is_answer = (error > RD_KAFKA_RESP_ERR_NO_ERROR && !concerns_producer(error)) || is_local_refusal(error);
  return is_answer && status == RD_KAFKA_MSG_STATUS_NOT_PERSISTED ? DeliveryStatus::failed : DeliveryStatus::in_doubt;
}

std::string_view kafka_remedy(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
      return "raise the topic's max.message.bytes";
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
      return "the topic does not take such records (a compacted topic needs a key)";
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
      return "create the topic, or let the brokers create it (auto.create.topics.enable)";
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return "grant the client WRITE and DESCRIBE on the topic";
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      return "grant the client IDEMPOTENT_WRITE on the cluster";
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
      return "correct the row's time, or the topic's limits (message.timestamp.before.max.ms, "
             "message.timestamp.after.max.ms)";
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
      return "check \"sasl.username\", \"sasl.password\" and \"sasl.mechanisms\"";
    case RD_KAFKA_RESP_ERR__SSL:
      return "check \"ssl.ca.location\", and that the broker's certificate is for the name that it is reached by";
    default:
      return {};
  }
}

std::string_view kafka_connection_remedy(rd_kafka_resp_err_t error) {
  const auto remedy = kafka_remedy(error);
  return remedy.empty() ? "see that the brokers run, and that \"bootstrap.servers\" and firewalls are right" : remedy;
}

bool is_connection_error(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__SSL:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
      return true;
    default:
      return false;
  }
}

std::string_view without_broker_state(std::string_view text) {
  const auto at = text.rfind(" (after ");
  return at != std::string_view::npos && text.ends_with(')') ? text.substr(0, at) : text;
}

}  // namespace walrelay
