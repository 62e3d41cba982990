#include "sinks/kafka_sink.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "decoder/topic_name.h"
#include "sinks/kafka_errors.h"
#include "sinks/kafka_failed_event.h"
#include "sinks/kafka_record.h"
#include "sinks/kafka_record_size.h"
#include "sinks/kafka_statistics.h"
#include "sinks/sink_error.h"

namespace walrelay {
namespace {

constexpr int kSecondsUntilUnreachable = 3;  // an idle connection that was closed is back by then
constexpr std::uint64_t kOne = 1;            // what is written to the eventfd

FileDescriptor make_wakeup() {
  FileDescriptor wakeup(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wakeup.valid()) throw SinkOpenError(fmt::format("cannot make an eventfd for Kafka: {}", std::strerror(errno)));
  return wakeup;
}

KafkaHeadersHandle make_headers(std::span<const EventHeader> headers) {
  KafkaHeadersHandle made(rd_kafka_headers_new(headers.size()));
  for (const auto& [name, value] : headers) {
    rd_kafka_header_add(made.get(), name.data(), static_cast<ssize_t>(name.size()), kafka_bytes(value),
                        static_cast<ssize_t>(size_of(value)));
  }
  return made;
}

DeliveryStatus status_of(const rd_kafka_message_t& message) {
  return kafka_delivery_status(message.err, rd_kafka_message_status(&message));
}

template <typename Take>
void for_each_message(rd_kafka_event_t* event, Take take) {
  std::array<const rd_kafka_message_t*, 256> messages{};
  while (const std::size_t count = rd_kafka_event_message_array(event, messages.data(), messages.size())) {
    for (std::size_t i = 0; i < count; ++i) take(*messages[i]);
  }
}

SinkLogLevel level_of(int syslog_level) {
  if (syslog_level <= 3) return SinkLogLevel::error;
  if (syslog_level == 4) return SinkLogLevel::warning;
  return syslog_level <= 6 ? SinkLogLevel::info : SinkLogLevel::debug;
}

}  // namespace

KafkaSink::KafkaSink(KafkaSinkOptions options)
    : options_(std::move(options)),
      wakeup_(make_wakeup()),
      producer_(std::make_unique<KafkaProducer>(options_.properties, kNoLimit, wakeup_.get())),
      resender_(options_.properties, wakeup_.get()) {}

bool KafkaSink::has_room(std::size_t bytes) const {
  if (in_flight_events_ == 0) return true;  // one larger event is admitted alone
  return in_flight_events_ < options_.limits.in_flight_events_max &&
         in_flight_bytes_ + bytes <= options_.limits.in_flight_bytes_max;
}

SubmitStatus KafkaSink::submit(const OutboxEvent& event, Tag tag) {
  const std::size_t bytes = size_of(event.key) + size_of(event.value);
  if (fatal_reason_ || !has_room(bytes)) return SubmitStatus::full;
  KafkaTopic* topic = producer_->topics().find(event.topic);
  if (topic == nullptr) {
    if (!is_topic_name(event.topic)) {
      return reject(FailureClass::topic,
                    fmt::format("\"{}\" is no topic name: Kafka takes 1 to 249 letters, digits, '.', '_' and '-'; "
                                "change the topic template",
                                event.topic));
    }
    topic = &producer_->topics().add(event.topic);
  }
  if (const auto held = hold_back(*topic, event)) return *held;
  return produce(*topic, event, tag, bytes);
}

SubmitStatus KafkaSink::reject(FailureClass failure_class, std::string reason) {
  rejection_ = {.failure_class = failure_class, .reason = std::move(reason)};
  return SubmitStatus::rejected;
}

// What is known of the topic, before anything is sent to it.
std::optional<SubmitStatus> KafkaSink::hold_back(KafkaTopic& topic, const OutboxEvent& event) {
  if (!topic.settled || !producer_->topics().has_contact()) {
    producer_->topics().ask(topic, event.topic);
    return SubmitStatus::full;
  }
  const bool may_make = topic.missing && producer_->creates_topics() && !topic.tried_to_make;
  if (may_make && event.topic == options_.dead_letter_topic) {
    producer_->topics().make(topic, event.topic, kDeadLetterBytesMax);
    return SubmitStatus::full;
  }
  if (topic.missing && !producer_->creates_topics()) {
    return ask_or_reject(topic, event, FailureClass::topic,
                         fmt::format("topic \"{}\" does not exist: create it", event.topic));
  }
  if (topic.missing && !leave_to_brokers(topic, event.topic)) return SubmitStatus::full;
  const std::size_t batch_size_max = std::min(batch_size_max_, topic.max_message_bytes.value_or(kNoLimit));
  if (batch_size_max < producer_->batch_size()) return shrink_batches(event.topic, batch_size_max);
  // Compressed, what the broker sees may be far smaller.
  if (!topic.max_message_bytes || producer_->compresses()) return std::nullopt;
  const std::size_t size = kafka_batch_size(event);
  if (size <= *topic.max_message_bytes) return std::nullopt;
  return ask_or_reject(
      topic, event, FailureClass::too_large,
      fmt::format("event of {} bytes is larger than topic \"{}\" takes (max.message.bytes={}): raise that limit", size,
                  event.topic, *topic.max_message_bytes));
}

bool KafkaSink::leave_to_brokers(KafkaTopic& topic, std::string_view name) {
  if (!producer_->topics().may_be_made(topic, name)) return false;
  if (!std::exchange(topic.left_to_brokers, true)) {
    write_log(SinkLogLevel::info, fmt::format("topic \"{}\" does not exist: waiting for the brokers to make it", name));
  }
  return true;
}

// The broker would refuse a batch of small records for its size, and with it every record in it.
SubmitStatus KafkaSink::shrink_batches(std::string_view topic, std::size_t batch_size_max) {
  if (in_flight_events_ > 0) return SubmitStatus::full;
  batch_size_max_ = batch_size_max;
  write_log(SinkLogLevel::info,
            fmt::format("topic \"{}\" takes {} bytes at a time: batches become that small", topic, batch_size_max));
  try {
    producer_ = std::make_unique<KafkaProducer>(options_.properties, batch_size_max, wakeup_.get());
  } catch (const SinkConfigError& error) {
    set_fatal(error.what());
  }
  wake_up();  // there is no other event that would have the caller submit again
  return SubmitStatus::full;
}

// Refuses only by an answer that was got for this event: the topic may have been changed meanwhile.
SubmitStatus KafkaSink::ask_or_reject(KafkaTopic& topic, const OutboxEvent& event, FailureClass failure_class,
                                      std::string reason) {
  if (std::exchange(topic.fresh, false)) return reject(failure_class, std::move(reason));
  topic.settled = false;
  producer_->topics().ask(topic, event.topic);
  return SubmitStatus::full;
}

SubmitStatus KafkaSink::produce(KafkaTopic& topic, const OutboxEvent& event, Tag tag, std::size_t bytes) {
  rd_kafka_topic_t* handle = producer_->topics().handle(topic, event.topic);
  if (handle == nullptr) return not_produced(rd_kafka_last_error(), event.topic, bytes);
  const KafkaRecord record{.topic = handle,
                           .key = event.key,
                           .value = event.value,
                           .timestamp_ms = event.timestamp_ms,
                           .opaque = kafka_opaque(tag)};
  const auto error = produce_record(producer_->client(), record, make_headers(event.headers));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return not_produced(error, event.topic, bytes);
  topic.fresh = false;
  ++in_flight_events_;
  in_flight_bytes_ += bytes;
  return SubmitStatus::accepted;
}

// A client that has failed for good takes nothing more, and gives its own cause as the reason: one that may look like a
// refusal of this record. It fails on a thread of its own, so that this may be the first sign of it. False: it goes on.
bool KafkaSink::take_fatal() {
  std::array<char, 512> reason{};
  const auto cause = rd_kafka_fatal_error(producer_->client(), reason.data(), reason.size());
  if (cause == RD_KAFKA_RESP_ERR_NO_ERROR) return false;
  set_fatal(fmt::format("{}: {}", rd_kafka_err2name(cause), reason.data()));
  return true;
}

SubmitStatus KafkaSink::not_produced(rd_kafka_resp_err_t error, std::string_view topic, std::size_t bytes) {
  if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL || take_fatal()) return SubmitStatus::full;
  producer_->topics().not_made(topic);
  return reject(kafka_failure_class(error), kafka_refusal(topic, bytes, error, rd_kafka_err2str(error)));
}

// ---- progress records -----------------------------------------------------------------------------------------------

StoredProgress KafkaSink::read_progress(std::string_view key) {
  if (options_.progress_topic.empty()) return {};
  try {
    if (!progress_reader_) {
      progress_reader_ = std::make_unique<KafkaProgressReader>(options_.properties, options_.progress_topic,
                                                               std::string(key), wakeup_.get());
    }
  } catch (const SinkConfigError& error) {  // a file that was there when this sink was made
    return {.state = StoredProgress::State::refused,
            .records = {},
            .reason = fmt::format("the progress record cannot be read: {}", error.what())};
  }
  auto answer = progress_reader_->step();
  if (answer.state != StoredProgress::State::pending) progress_reader_.reset();
  return answer;
}

SubmitStatus KafkaSink::submit_progress(std::string_view key, NullableBytes record, Tag tag) {
  auto& topics = producer_->topics();
  if (fatal_reason_ || !topics.has_contact()) return SubmitStatus::full;
  KafkaTopic* topic = topics.find(options_.progress_topic);
  if (topic == nullptr) topic = &topics.add(options_.progress_topic);
  const std::size_t bytes = key.size() + size_of(record);
  rd_kafka_topic_t* handle = topics.handle(*topic, options_.progress_topic);
  if (handle == nullptr) return not_produced(rd_kafka_last_error(), options_.progress_topic, bytes);
  const KafkaRecord sent{
      .topic = handle, .partition = kProgressPartition, .key = key, .value = record, .opaque = kafka_opaque(tag)};
  const auto error = produce_record(producer_->client(), sent, nullptr);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return not_produced(error, options_.progress_topic, bytes);
  ++in_flight_events_;
  in_flight_bytes_ += bytes;
  return SubmitStatus::accepted;
}

void KafkaSink::expect_more(bool soon) {
  if (soon || in_flight_events_ > 0) producer_->let_linger(soon);
}

std::span<const Delivery> KafkaSink::collect(std::size_t limit) {
  drop_handed_out();
  if (ready_.empty()) resender_.go_on(producer_->client());
  // The signal is taken back only where there was nothing, and then before one more look: what comes in from there on
  // signals again.
  if (!take_events(limit)) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(wakeup_.get(), &count, sizeof count);  // EAGAIN: there was no signal
    take_events(limit);
  }
  if (const auto& failure = resender_.failure()) set_fatal(*failure);
  // There may be more, and librdkafka signals only when its queue was empty; what waits for go_on() has no signal.
  if (ready_.size() >= limit || !failed_.empty()) wake_up();
  handed_out_ = std::min(limit, ready_.size());
  return {ready_.data(), handed_out_};
}

bool KafkaSink::take_events(std::size_t limit) {
  bool any = false;
  while (ready_.size() < limit && take_next_event()) any = true;
  return any;
}

bool KafkaSink::take_next_event() {
  if (KafkaEventHandle event = producer_->next_event()) {
    if (rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_DR) {
      take_reports(std::move(event));
    } else {
      take_in(event.get());
    }
    return true;
  }
  const KafkaEventHandle event = resender_.next_event();
  if (!event) return false;
  switch (rd_kafka_event_type(event.get())) {
    case RD_KAFKA_EVENT_DR:
      take_resent(event.get());
      break;
    case RD_KAFKA_EVENT_STATS:  // the main producer's tell enough
      break;
    default:
      take_in(event.get());
  }
  return true;
}

void KafkaSink::drop_handed_out() {
  for (std::size_t i = 0; i < handed_out_; ++i) {
    if (ready_[i].failed != nullptr) failed_.pop_front();
  }
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(handed_out_));
  handed_out_ = 0;
}

void KafkaSink::take_in(rd_kafka_event_t* event) {
  switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_ERROR:
      return take_error(event);
    case RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT:
      reachable_ = producer_->topics().take_answer(event) || reachable_;
      return;
    case RD_KAFKA_EVENT_CREATETOPICS_RESULT:
      return write_log(SinkLogLevel::info, KafkaTopics::take_made(event));
    case RD_KAFKA_EVENT_LOG:
      return take_log(event);
    case RD_KAFKA_EVENT_STATS:
      return take_statistics(rd_kafka_event_stats(event));
    default:
      return write_log(SinkLogLevel::warning, fmt::format("unexpected event {}", rd_kafka_event_name(event)));
  }
}

// librdkafka reports a batch in one event.
void KafkaSink::take_reports(KafkaEventHandle event) {
  const std::size_t count = rd_kafka_event_message_count(event.get());
  std::vector<const rd_kafka_message_t*> refused;
  for_each_message(event.get(), [&](const rd_kafka_message_t& message) {
    const auto status = status_of(message);
    if (status == DeliveryStatus::failed && count > 1 && kafka_refuses_one_record(message.err)) {
      return refused.push_back(&message);
    }
    if (status == DeliveryStatus::failed) resender_.stop_behind(producer_->client(), message);
    take_report(message, status, kafka_tag(message));
  });
  if (!refused.empty()) return resender_.take_over(producer_->client(), std::move(event), std::move(refused));
  producer_->keep(std::move(event), count);
}

void KafkaSink::take_resent(rd_kafka_event_t* event) {
  for_each_message(event, [&](const rd_kafka_message_t& message) {
    const auto status = status_of(message);
    take_report(message, status, resender_.settle(message, status == DeliveryStatus::failed));
  });
  const std::size_t oversized = resender_.take_oversized();
  if (oversized > 1) batch_size_max_ = std::min(batch_size_max_, oversized / 2);
}

void KafkaSink::take_report(const rd_kafka_message_t& message, DeliveryStatus status, Tag tag) {
  --in_flight_events_;
  in_flight_bytes_ -= message.len + message.key_len;
  Delivery delivery{.tag = tag, .status = status, .failed = nullptr};
  if (status == DeliveryStatus::persisted) {
    reachable_ = true;
  } else if (status == DeliveryStatus::failed) {
    delivery.failed = &failed_.emplace_back(make_failed_event(message));
    producer_->topics().not_made(rd_kafka_topic_name(message.rkt));
  } else {
    set_fatal(fmt::format("delivery to topic \"{}\" is in doubt: {}", rd_kafka_topic_name(message.rkt),
                          rd_kafka_err2str(message.err)));
  }
  ready_.push_back(delivery);
}

void KafkaSink::take_error(rd_kafka_event_t* event) {
  const auto error = rd_kafka_event_error(event);
  const std::string text(without_broker_state(rd_kafka_event_error_string(event)));
  if (error == RD_KAFKA_RESP_ERR__FATAL) return set_fatal(text);
  if (!is_connection_error(error)) return write_log(SinkLogLevel::warning, text);
  // "All brokers down" only follows what says why.
  if (error != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    connection_error_ = text;
    connection_remedy_ = kafka_connection_remedy(error);
  }
  if (error == RD_KAFKA_RESP_ERR__AUTHENTICATION) connection_error_ += login_remark(options_.properties);
}

void KafkaSink::take_statistics(std::string_view json) {
  round_trip_ = mean_round_trip(json);
  if (any_broker_is_up(json)) {
    reachable_ = true;
    seconds_without_broker_ = 0;
    return;
  }
  // librdkafka connects again by itself within a second, also when there is nothing to send.
  if (++seconds_without_broker_ >= kSecondsUntilUnreachable) reachable_ = false;
}

void KafkaSink::take_log(rd_kafka_event_t* event) {
  const char* facility = nullptr;
  const char* text = nullptr;
  int level = 0;
  if (rd_kafka_event_log(event, &facility, &text, &level) != 0) return;
  write_log(level_of(level), fmt::format("librdkafka {}: {}", facility, text));
}

void KafkaSink::set_fatal(std::string_view reason) {
  if (!fatal_reason_) fatal_reason_ = fmt::format("the Kafka producer cannot go on: {}", reason);
}

Sink::Health KafkaSink::health() const {
  if (reachable_) return {};
  return {.reachable = false,
          .why = fmt::format("no Kafka broker of {} can be reached: {}; {}",
                             kafka_bootstrap_servers(options_.properties), connection_error_, connection_remedy_)};
}

Sink::Statistics KafkaSink::statistics() const {
  return {.queue_events = producer_->queued(), .round_trip = round_trip_};
}

void KafkaSink::wake_up() const {
  // EAGAIN: the counter is full, so the descriptor is readable already.
  [[maybe_unused]] const auto written = ::write(wakeup_.get(), &kOne, sizeof kOne);
}

void KafkaSink::write_log(SinkLogLevel level, std::string_view text) const {
  if (options_.log) options_.log(level, text);
}

}  // namespace walrelay
