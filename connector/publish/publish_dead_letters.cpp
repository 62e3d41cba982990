#include "connector/publish/publish_dead_letters.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "connector/sink_factory.h"
#include "sinks/kafka_topic_reader.h"

namespace walrelay {
namespace {

constexpr std::chrono::milliseconds kAnswer{8'000};
constexpr std::chrono::milliseconds kReadWait{200};
constexpr std::string_view kOwnPrefix = "walrelay-";

std::string_view header(const TopicRecord& record, std::string_view name) {
  const auto found = std::find_if(record.headers.begin(), record.headers.end(),
                                  [&](const EventHeader& header) { return header.name == name; });
  return found == record.headers.end() ? std::string_view() : found->value.value_or("");
}

class DeadLetters {
 public:
  DeadLetters(const Config& config, const RowFilter& filter, EventPublisher& publisher)
      : config_(config), filter_(filter), publisher_(publisher) {}

  void publish(const TopicRecord& record) {
    const auto table = header(record, "walrelay-outbox");
    const auto id = header(record, id_header(table));
    if (!wanted(record, id)) return publisher_.pass_over();
    found_.emplace(id);
    OutboxEvent event;
    event.outbox = outbox(table);
    event.topic = header(record, "walrelay-topic");
    event.key = record.key;
    event.value = record.value;
    event.id = id;
    event.timestamp_ms = record.timestamp_ms;
    headers_.clear();
    for (const auto& one : record.headers) {
      if (!one.name.starts_with(kOwnPrefix)) headers_.push_back(one);
    }
    event.headers = headers_;
    if (event.topic.empty()) {
      ++without_topic_;
      publisher_.pass_over();
    } else {
      publisher_.publish(event);
    }
  }

  [[nodiscard]] std::uint64_t without_topic() const { return without_topic_; }
  [[nodiscard]] std::vector<std::string> missing_ids() const {
    std::vector<std::string> missing;
    std::copy_if(filter_.ids.begin(), filter_.ids.end(), std::back_inserter(missing),
                 [&](const auto& id) { return !found_.contains(id); });
    return missing;
  }

 private:
  [[nodiscard]] std::string_view id_header(std::string_view table) const {
    for (const auto& rules : config_.outboxes) {
      if (rules.table == table || rules.messages == table) return rules.id_header;
    }
    return "id";
  }

  [[nodiscard]] bool wanted(const TopicRecord& record, std::string_view id) const {
    const auto& ids = filter_.ids;
    if (!ids.empty() && std::find(ids.begin(), ids.end(), id) == ids.end()) return false;
    if (!filter_.type.empty() && header(record, "type") != filter_.type) return false;
    if (filter_.since_ms && record.timestamp_ms < *filter_.since_ms) return false;
    return !filter_.before_ms || record.timestamp_ms < *filter_.before_ms;
  }

  std::size_t outbox(std::string_view name) {
    const auto found = outboxes_.find(name);
    if (found != outboxes_.end()) return found->second;
    return outboxes_.emplace(name, publisher_.add_outbox(name, id_header(name))).first->second;
  }

  const Config& config_;
  const RowFilter& filter_;
  EventPublisher& publisher_;
  std::map<std::string, std::size_t, std::less<>> outboxes_;
  std::vector<EventHeader> headers_;
  std::set<std::string, std::less<>> found_;  // ids
  std::uint64_t without_topic_ = 0;
};

}  // namespace

DeadLetterTally publish_dead_letters(const Config& config, const RowFilter& filter) {
  SignalFd signals;  // before any thread
  const SystemClock clock;
  RowMeter meter("replay", clock.now(), STDERR_FILENO, "dead letters");
  KafkaTopicReader reader(config.sink.kafka, config.delivery.dead_letter_topic, kAnswer);
  const auto sink = make_sink(config);
  EventPublisher publisher(config.delivery, *sink, signals, meter, Lsn{}, clock.wall());
  DeadLetters letters(config, filter, publisher);
  meter.expect(reader.records_max(), clock.now());
  while (!reader.at_end()) {
    if (const auto* record = reader.next(kReadWait)) {
      letters.publish(*record);
    } else {
      publisher.pulse();
    }
  }
  publisher.finish();
  return {publisher.tally(), letters.without_topic(), letters.missing_ids()};
}

}  // namespace walrelay
