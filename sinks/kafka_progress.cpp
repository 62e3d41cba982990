#include "sinks/kafka_progress.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "sinks/kafka_errors.h"
#include "sinks/sink_error.h"

namespace walrelay {
namespace {

using State = StoredProgress::State;

constexpr int kCreateTimeoutMs = 500;     // of the request to make the topic; without an answer it is tried to be read
constexpr std::size_t kRecordsKept = 16;  // of the key; more than one only matter for the moments of a take-over
constexpr std::int64_t kLastRecords = 1000;  // of the topic, of all its keys

// Whether the topic may be there a moment after this answer to the request to make it: there was none, as of a broker
// that is busy, or it says that the topic exists, which not every broker has heard of yet.
bool may_appear(rd_kafka_resp_err_t not_made) {
  return not_made < RD_KAFKA_RESP_ERR_NO_ERROR || not_made == RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT ||
         not_made == RD_KAFKA_RESP_ERR_NOT_CONTROLLER || not_made == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS;
}

StoredProgress pending() { return {.state = State::pending, .records = {}, .reason = {}}; }

KafkaClientHandle make_progress_client(const KafkaProperties& properties) {
  KafkaConfHandle conf = make_kafka_conf(properties);
  const auto set = [&](const char* name, const char* value) { rd_kafka_conf_set(conf.get(), name, value, nullptr, 0); };
  set("enable.partition.eof", "true");
  set("auto.offset.reset", "earliest");
  set("allow.auto.create.topics", "false");  // it would not be compacted
  set("fetch.wait.max.ms", "10");            // an empty topic is known to be empty after that
  set("log_level", "3");                     // it would tell that it has no use for a producer's properties
  return make_kafka_client(std::move(conf), RD_KAFKA_CONSUMER);
}

}  // namespace

KafkaProgressReader::KafkaProgressReader(const KafkaProperties& properties, std::string topic, std::string key,
                                         int wakeup_fd)
    : name_(std::move(topic)),
      key_(std::move(key)),
      client_(make_progress_client(properties)),
      queue_(rd_kafka_queue_new(client_.get())),
      topic_(rd_kafka_topic_new(client_.get(), name_.c_str(), nullptr)) {
  wake_up_by(wakeup_fd, queue_.get());
  make_topic();
}

KafkaProgressReader::~KafkaProgressReader() { stop_reading(); }

// Asking for a topic that is there costs one round trip, and looking first would cost the same.
void KafkaProgressReader::make_topic() {
  std::array<char, 256> reason{};
  const KafkaNewTopicHandle topic(rd_kafka_NewTopic_new(name_.c_str(), 1, -1, reason.data(), reason.size()));
  if (!topic) throw SinkConfigError(fmt::format("delivery.progress_topic: {}", reason.data()));
  rd_kafka_NewTopic_set_config(topic.get(), "cleanup.policy", "compact");
  rd_kafka_NewTopic_set_config(topic.get(), "segment.bytes", "16777216");  // only closed segments are compacted
  const KafkaAdminOptionsHandle options(rd_kafka_AdminOptions_new(client_.get(), RD_KAFKA_ADMIN_OP_CREATETOPICS));
  rd_kafka_AdminOptions_set_request_timeout(options.get(), kCreateTimeoutMs, reason.data(), reason.size());
  rd_kafka_NewTopic_t* topics[] = {topic.get()};
  rd_kafka_CreateTopics(client_.get(), topics, 1, options.get(), queue_.get());
}

StoredProgress KafkaProgressReader::step() {
  while (const KafkaEventHandle event{rd_kafka_queue_poll(queue_.get(), 0)}) {
    auto answer = take_in(event.get());
    if (answer.state != State::pending) return answer;
  }
  rd_kafka_poll(client_.get(), 0);
  return pending();
}

StoredProgress KafkaProgressReader::take_in(rd_kafka_event_t* event) {
  switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_CREATETOPICS_RESULT:
      return topic_made(event);
    case RD_KAFKA_EVENT_FETCH:
      while (const auto* message = rd_kafka_event_message_next(event)) {
        auto answer = take_message(*message);
        if (answer.state != State::pending) return answer;
      }
      return pending();
    case RD_KAFKA_EVENT_ERROR:
      return take_error(rd_kafka_event_error(event));
    default:
      return pending();
  }
}

StoredProgress KafkaProgressReader::topic_made(rd_kafka_event_t* event) {
  not_made_ = rd_kafka_event_error(event);
  if (not_made_ == RD_KAFKA_RESP_ERR_NO_ERROR) {
    std::size_t count = 0;
    const auto* const* results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
    if (count > 0) not_made_ = rd_kafka_topic_result_error(results[0]);
  }
  if (not_made_ == RD_KAFKA_RESP_ERR_NO_ERROR) return {.state = State::ready, .records = {}, .reason = {}};
  return start_reading(Phase::reading_last);
}

StoredProgress KafkaProgressReader::start_reading(Phase phase) {
  stop_reading();
  phase_ = phase;
  const auto from = phase == Phase::reading_last ? RD_KAFKA_OFFSET_TAIL(kLastRecords) : RD_KAFKA_OFFSET_BEGINNING;
  reading_ = rd_kafka_consume_start_queue(topic_.get(), kProgressPartition, from, queue_.get()) == 0;
  return reading_ ? pending() : refused("cannot be read", rd_kafka_last_error());
}

void KafkaProgressReader::stop_reading() {
  if (std::exchange(reading_, false)) rd_kafka_consume_stop(topic_.get(), kProgressPartition);
}

StoredProgress KafkaProgressReader::take_message(const rd_kafka_message_t& message) {
  if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) return take_error(message.err);
  if (std::string_view(static_cast<const char*>(message.key), message.key_len) != key_) return pending();
  if (message.payload == nullptr) {
    records_.clear();
    return pending();
  }
  records_.emplace_back(static_cast<const char*>(message.payload), message.len);
  if (records_.size() > kRecordsKept) records_.pop_front();
  return pending();
}

StoredProgress KafkaProgressReader::read_to_end() {
  if (records_.empty() && phase_ == Phase::reading_last) return start_reading(Phase::reading_all);
  return {.state = State::ready, .records = {records_.begin(), records_.end()}, .reason = {}};
}

StoredProgress KafkaProgressReader::take_error(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
      return read_to_end();
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return refused("cannot be read", error);
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      if (may_appear(not_made_)) {
        stop_reading();
        make_topic();
        return pending();
      }
      return refused("does not exist and cannot be made", not_made_);
    default:
      return pending();  // librdkafka goes on by itself
  }
}

StoredProgress KafkaProgressReader::refused(std::string_view what, rd_kafka_resp_err_t error) const {
  return {.state = State::refused,
          .records = {},
          .reason = fmt::format(
              "topic \"{}\" of the progress record {}: {} ({}); make it (one partition, cleanup.policy=compact) and "
              "grant the client READ, WRITE and DESCRIBE on it, or do without the record by delivery.progress_topic = "
              "\"\"",
              name_, what, rd_kafka_err2str(error), rd_kafka_err2name(error))};
}

}  // namespace walrelay
