#include "sinks/kafka_admin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "decoder/topic_name.h"
#include "sinks/kafka_config_values.h"
#include "sinks/kafka_errors.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kAttempt{500};  // so that a refused login ends the wait early

int remaining(steady_clock::time_point deadline, milliseconds at_most) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
  return static_cast<int>(std::clamp(left, milliseconds{1}, at_most).count());
}

// The members are in the order of librdkafka's termination, see kafka_handles.h.
class Inspection {
 public:
  Inspection(const KafkaProperties& properties, std::span<const std::string> topics, milliseconds at_most)
      : properties_(properties), names_(topics), deadline_(steady_clock::now() + at_most) {
    KafkaConfHandle conf = make_kafka_conf(properties);
    // Looking must not create.
    rd_kafka_conf_set(conf.get(), "allow.auto.create.topics", "false", nullptr, 0);
    client_ = make_kafka_client(std::move(conf));
    queue_.reset(rd_kafka_queue_get_main(client_.get()));
    rd_kafka_set_log_queue(client_.get(), nullptr);
    for (const auto& name : topics) {
      // A name that Kafka forbids is reported below.
      if (is_topic_name(name)) handles_.emplace_back(rd_kafka_topic_new(client_.get(), name.c_str(), nullptr));
    }
  }

  KafkaReport run() {
    for (const auto& name : names_) report_.topics.emplace_back().name = name;
    const KafkaMetadataHandle metadata = fetch_metadata();
    if (!metadata) {
      if (report_.remedy.empty()) report_.remedy = kafka_connection_remedy(RD_KAFKA_RESP_ERR_NO_ERROR);
      report_.unreachable = fmt::format("no Kafka broker of {} can be reached: {}",
                                        kafka_bootstrap_servers(properties_), connection_error_);
      return std::move(report_);
    }
    take_metadata(*metadata);
    take_configs(metadata->orig_broker_id);
    return std::move(report_);
  }

 private:
  KafkaMetadataHandle fetch_metadata() {
    do {
      const rd_kafka_metadata_t* metadata = nullptr;
      // 0, nullptr: of the topics that there are handles of.
      const auto error = rd_kafka_metadata(client_.get(), 0, nullptr, &metadata, remaining(deadline_, kAttempt));
      if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return KafkaMetadataHandle(metadata);
      take_errors(error);
    } while (!login_refused_ && steady_clock::now() < deadline_);
    return nullptr;
  }

  void take_errors(rd_kafka_resp_err_t latest) {
    if (connection_error_.empty()) connection_error_ = rd_kafka_err2str(latest);
    while (const KafkaEventHandle event{rd_kafka_queue_poll(queue_.get(), 0)}) {
      const auto error = rd_kafka_event_error(event.get());
      if (rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_ERROR || !is_connection_error(error)) continue;
      if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) continue;  // only follows what says why
      connection_error_ = without_broker_state(rd_kafka_event_error_string(event.get()));
      report_.remedy = kafka_remedy(error);
      if (error != RD_KAFKA_RESP_ERR__AUTHENTICATION) continue;
      login_refused_ = true;
      connection_error_ += login_remark(properties_);
    }
  }

  KafkaTopicReport* find(std::string_view name) {
    const auto found = std::ranges::find(report_.topics, name, &KafkaTopicReport::name);
    return found == report_.topics.end() ? nullptr : &*found;
  }

  void take_metadata(const rd_kafka_metadata_t& metadata) {
    for (const auto& broker : std::span(metadata.brokers, static_cast<std::size_t>(metadata.broker_cnt))) {
      report_.brokers.push_back(fmt::format("{}:{}", broker.host, broker.port));
    }
    for (const auto& topic : std::span(metadata.topics, static_cast<std::size_t>(metadata.topic_cnt))) {
      if (auto* report = find(topic.topic)) take_topic(*report, topic);
    }
    for (auto& report : report_.topics) {
      if (!is_topic_name(report.name)) report.problem = "Kafka forbids this name";
    }
  }

  static void take_topic(KafkaTopicReport& report, const rd_kafka_metadata_topic_t& topic) {
    report.partitions = topic.partition_cnt;
    report.exists = topic.err == RD_KAFKA_RESP_ERR_NO_ERROR || topic.err == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
    if (report.exists || topic.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return;
    const auto remedy = kafka_remedy(topic.err);
    report.problem = fmt::format("{}{}{}", rd_kafka_err2str(topic.err), remedy.empty() ? "" : "; ", remedy);
  }

  // Needs a right that a relay need not have: what is refused stays unknown.
  void take_configs(int broker) {
    std::vector<KafkaConfigResourceHandle> owners;
    owners.emplace_back(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, std::to_string(broker).c_str()));
    for (const auto& topic : report_.topics) {
      if (topic.exists) owners.emplace_back(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.name.c_str()));
    }
    std::vector<rd_kafka_ConfigResource_t*> resources;
    resources.reserve(owners.size());
    for (const auto& owner : owners) resources.push_back(owner.get());
    rd_kafka_DescribeConfigs(client_.get(), resources.data(), resources.size(), nullptr, queue_.get());
    while (steady_clock::now() < deadline_) {
      const KafkaEventHandle event(rd_kafka_queue_poll(queue_.get(), remaining(deadline_, kAttempt)));
      if (!event || rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT) continue;
      return take_described(event.get());
    }
  }

  void take_described(rd_kafka_event_t* event) {
    if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
    std::size_t count = 0;
    const rd_kafka_ConfigResource_t** resources =
        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &count);
    for (const auto* resource : std::span(resources, count)) {
      if (rd_kafka_ConfigResource_type(resource) == RD_KAFKA_RESOURCE_BROKER) {
        const auto value = kafka_config_value(resource, "auto.create.topics.enable");
        if (value) report_.auto_create_topics = *value == "true";
        report_.max_message_bytes = kafka_config_number(resource, "message.max.bytes");
      } else if (auto* report = find(rd_kafka_ConfigResource_name(resource))) {
        report->max_message_bytes = kafka_config_number(resource, "max.message.bytes");
        report->cleanup_policy = kafka_config_value(resource, "cleanup.policy");
      }
    }
  }

  const KafkaProperties& properties_;
  std::span<const std::string> names_;
  steady_clock::time_point deadline_;
  KafkaClientHandle client_;
  KafkaQueueHandle queue_;
  std::vector<KafkaTopicHandle> handles_;
  KafkaReport report_;
  std::string connection_error_;
  bool login_refused_ = false;
};

}  // namespace

KafkaReport inspect_kafka(const KafkaProperties& properties, std::span<const std::string> topics,
                          milliseconds at_most) {
  return Inspection(properties, topics, at_most).run();
}

}  // namespace walrelay
