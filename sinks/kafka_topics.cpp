#include "sinks/kafka_topics.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "sinks/kafka_config_values.h"

namespace walrelay {
namespace {

// Of one question. Where none is ever answered, the first event of a sink waits that long.
constexpr int kAnswerTimeoutMs = 500;
constexpr int kMakeTimeoutMs = 5000;

bool is_no_answer(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR__TIMED_OUT || error == RD_KAFKA_RESP_ERR__TRANSPORT ||
         error == RD_KAFKA_RESP_ERR__DESTROY || error == RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE;
}

void take_description(KafkaTopic& topic, rd_kafka_event_t* event) {
  topic.missing = false;
  topic.max_message_bytes.reset();
  const auto* result = rd_kafka_event_DescribeConfigs_result(event);
  std::size_t count = 0;
  const rd_kafka_ConfigResource_t** resources = rd_kafka_DescribeConfigs_result_resources(result, &count);
  if (count == 0) return;
  topic.missing = rd_kafka_ConfigResource_error(resources[0]) == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
  topic.max_message_bytes = kafka_config_number(resources[0], "max.message.bytes");
}

}  // namespace

KafkaTopic* KafkaTopics::find(std::string_view name) {
  const auto found = topics_.find(name);
  return found == topics_.end() ? nullptr : &found->second;
}

KafkaTopic& KafkaTopics::add(std::string_view name) {
  KafkaTopic& topic = topics_[std::string(name)];
  ask(topic, name);
  topic.settled = !answers_come_;
  return topic;
}

rd_kafka_topic_t* KafkaTopics::handle(KafkaTopic& topic, std::string_view name) const {
  if (!topic.handle) topic.handle.reset(rd_kafka_topic_new(client_, std::string(name).c_str(), nullptr));
  return topic.handle.get();
}

void KafkaTopics::ask(KafkaTopic& topic, std::string_view name) {
  if (topic.asked) return;
  topic.asked = true;
  std::array<char, 256> reason{};
  const KafkaAdminOptionsHandle options(rd_kafka_AdminOptions_new(client_, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
  rd_kafka_AdminOptions_set_request_timeout(options.get(), kAnswerTimeoutMs, reason.data(), reason.size());
  rd_kafka_AdminOptions_set_opaque(options.get(), &topic);
  const KafkaConfigResourceHandle resource(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, std::string(name).c_str()));
  rd_kafka_ConfigResource_t* resources[] = {resource.get()};
  rd_kafka_DescribeConfigs(client_, resources, 1, options.get(), queue_);
}

void KafkaTopics::make(KafkaTopic& topic, std::string_view name, std::size_t max_message_bytes) {
  topic.tried_to_make = true;
  std::array<char, 256> reason{};
  const std::string text(name);
  const KafkaNewTopicHandle made(rd_kafka_NewTopic_new(text.c_str(), -1, -1, reason.data(), reason.size()));
  if (!made) return;
  rd_kafka_NewTopic_set_config(made.get(), "max.message.bytes", std::to_string(max_message_bytes).c_str());
  topic.asked = true;
  topic.settled = false;
  const KafkaAdminOptionsHandle options(rd_kafka_AdminOptions_new(client_, RD_KAFKA_ADMIN_OP_CREATETOPICS));
  rd_kafka_AdminOptions_set_request_timeout(options.get(), kMakeTimeoutMs, reason.data(), reason.size());
  rd_kafka_AdminOptions_set_opaque(options.get(), &topic);
  rd_kafka_NewTopic_t* topics[] = {made.get()};
  rd_kafka_CreateTopics(client_, topics, 1, options.get(), queue_);
}

// It is not settled before it has been described anew. What could not be made is left to the broker's own making.
std::string KafkaTopics::take_made(rd_kafka_event_t* event) {
  auto& topic = *static_cast<KafkaTopic*>(rd_kafka_event_opaque(event));
  topic.asked = false;
  std::size_t count = 0;
  const auto* const* results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
  auto error = rd_kafka_event_error(event);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR && count > 0) error = rd_kafka_topic_result_error(results[0]);
  const auto* name = count > 0 ? rd_kafka_topic_result_name(results[0]) : "of dead letters";
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return fmt::format("made topic \"{}\"", name);
  return fmt::format("cannot make topic \"{}\": {}", name, rd_kafka_err2str(error));
}

bool KafkaTopics::may_be_made(const KafkaTopic& topic, std::string_view name) {
  if (being_made_ != nullptr && &being_made_->second == &topic) return true;
  if (being_made_ != nullptr && being_made_->second.missing) {
    ask(being_made_->second, being_made_->first);
    return false;
  }
  being_made_ = &*topics_.find(name);
  return true;
}

void KafkaTopics::not_made(std::string_view name) {
  if (being_made_ != nullptr && being_made_->first == name) being_made_ = nullptr;
}

bool KafkaTopics::take_answer(rd_kafka_event_t* event) {
  const auto error = rd_kafka_event_error(event);
  const bool came = !is_no_answer(error);
  auto& topic = *static_cast<KafkaTopic*>(rd_kafka_event_opaque(event));
  topic.asked = false;
  topic.fresh = came;
  topic.settled = came || has_contact();
  if (topic.settled) answers_come_ = came;
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) take_description(topic, event);
  return came;
}

bool KafkaTopics::has_contact() {
  if (contact_) return true;
  // The cluster's id comes with the first metadata; 0: do not wait for it.
  const std::unique_ptr<char, decltype([](char* memory) { std::free(memory); })> id(rd_kafka_clusterid(client_, 0));
  contact_ = id != nullptr;
  return contact_;
}

}  // namespace walrelay
