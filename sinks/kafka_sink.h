#pragma once
// Publishes to Kafka with librdkafka's idempotent producer.
//
// librdkafka's own threads do the network work and never run our code: delivery reports, errors, statistics, logs and
// topic descriptions are events of its main queue, taken by collect() on the loop thread. The tag travels in
// librdkafka's 64-bit opaque, so nothing is kept per event.
//
// Order: events of one key go to one partition in the order they are submitted, and retries keep it. What is in flight
// behind a refused event may be stored all the same; what is still queued waits (kafka_resender.h).
//
// submit() says full, besides at the limits, while the first event of a topic waits for the topic's description (one
// round trip; as long as no broker can be reached), and for good once fatal_reason() is set.

#include <chrono>
#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinks/file_descriptor.h"
#include "sinks/kafka_errors.h"
#include "sinks/kafka_options.h"
#include "sinks/kafka_producer.h"
#include "sinks/kafka_progress.h"
#include "sinks/kafka_resender.h"
#include "sinks/sink.h"
#include "sinks/sink_log.h"

namespace walrelay {

struct KafkaSinkOptions {
  KafkaProperties properties;
  SinkLimits limits;
  std::string progress_topic;  // of the progress records; "": none are held
  // Made where it is missing, for records of up to kDeadLetterBytesMax: what is too large for another topic comes here.
  std::string dead_letter_topic;
  SinkLog log;  // librdkafka's lines and ours; called on the loop thread, within a call of the sink; may be empty
};

class KafkaSink final : public Sink {
 public:
  // Below what brokers take as a request (socket.request.max.bytes, 100 MiB) and clients as an answer.
  static constexpr std::size_t kDeadLetterBytesMax = std::size_t{64} << 20U;

  // Starts librdkafka's threads; does not wait for a connection. Throws SinkConfigError or SinkOpenError.
  explicit KafkaSink(KafkaSinkOptions options);

  [[nodiscard]] SubmitStatus submit(const OutboxEvent& event, Tag tag) override;
  [[nodiscard]] const Rejection& rejection() const override { return rejection_; }
  [[nodiscard]] StoredProgress read_progress(std::string_view key) override;
  [[nodiscard]] SubmitStatus submit_progress(std::string_view key, NullableBytes record, Tag tag) override;
  [[nodiscard]] std::span<const Delivery> collect(std::size_t limit) override;
  void hold() override { resender_.hold(); }
  void expect_more(bool soon) override;
  [[nodiscard]] int descriptor() const override { return wakeup_.get(); }
  [[nodiscard]] std::size_t in_flight_events() const override { return in_flight_events_; }
  [[nodiscard]] std::size_t in_flight_bytes() const override { return in_flight_bytes_; }
  [[nodiscard]] std::optional<std::string> fatal_reason() const override { return fatal_reason_; }
  [[nodiscard]] Health health() const override;

  // Messages, requests and reports in librdkafka's queues; the brokers' mean round trip in the last statistics
  // interval.
  [[nodiscard]] Statistics statistics() const override;

 private:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] bool has_room(std::size_t bytes) const;
  SubmitStatus reject(FailureClass failure_class, std::string reason);
  std::optional<SubmitStatus> hold_back(KafkaTopic& topic, const OutboxEvent& event);
  bool leave_to_brokers(KafkaTopic& topic, std::string_view name);
  SubmitStatus shrink_batches(std::string_view topic, std::size_t batch_size_max);
  SubmitStatus ask_or_reject(KafkaTopic& topic, const OutboxEvent& event, FailureClass failure_class,
                             std::string reason);
  SubmitStatus produce(KafkaTopic& topic, const OutboxEvent& event, Tag tag, std::size_t bytes);
  bool take_fatal();
  SubmitStatus not_produced(rd_kafka_resp_err_t error, std::string_view topic, std::size_t bytes);

  bool take_events(std::size_t limit);
  bool take_next_event();
  void take_in(rd_kafka_event_t* event);
  void take_reports(KafkaEventHandle event);
  void take_resent(rd_kafka_event_t* event);
  void take_report(const rd_kafka_message_t& message, DeliveryStatus status, Tag tag);
  void take_error(rd_kafka_event_t* event);
  void take_statistics(std::string_view json);
  void take_log(rd_kafka_event_t* event);
  void drop_handed_out();
  void set_fatal(std::string_view reason);
  void wake_up() const;
  void write_log(SinkLogLevel level, std::string_view text) const;

  KafkaSinkOptions options_;

  FileDescriptor wakeup_;  // before the producer, which writes to it until it is destroyed
  std::unique_ptr<KafkaProducer> producer_;
  std::unique_ptr<KafkaProgressReader> progress_reader_;  // while a record is being read
  KafkaResender resender_;                                // after the producer: it keeps events of it
  std::size_t batch_size_max_ = kNoLimit;

  std::size_t in_flight_events_ = 0;
  std::size_t in_flight_bytes_ = 0;
  Rejection rejection_;
  std::optional<std::string> fatal_reason_;

  std::vector<Delivery> ready_;     // the first handed_out_ are what the last collect() returned
  std::deque<FailedEvent> failed_;  // of those in ready_, in the same order
  std::size_t handed_out_ = 0;

  bool reachable_ = false;
  int seconds_without_broker_ = 0;
  std::string connection_error_ = "no answer yet";
  std::string_view connection_remedy_ = kafka_connection_remedy(RD_KAFKA_RESP_ERR_NO_ERROR);
  std::optional<std::chrono::microseconds> round_trip_;
};

}  // namespace walrelay
