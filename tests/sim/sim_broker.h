#pragma once
// A broker with three partitions, and the sink of one producer. What a producer has sent is stored in order within a
// partition and in any order between partitions; its reports come later, or never if the producer dies. A fourth queue
// is that of the progress records.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sinks/dead_letter.h"
#include "sinks/sink.h"

namespace walrelay::test {

struct StoredRecord {
  std::string topic;
  std::string id;
  std::string key;
  std::uint64_t life = 0;  // of the relay that sent it
};

struct SimBroker {
  bool up = true;
  std::set<std::string> poison;  // ids that it refuses
  std::vector<StoredRecord> stored;
  bool holds_progress = true;
  static constexpr std::size_t kProgressKept = 16;
  std::vector<std::string> progress;  // the latest records, as they were stored
};

class SimSink final : public Sink {
 public:
  SimSink(SimBroker& broker, std::size_t in_flight_max) : broker_(broker), in_flight_max_(in_flight_max) {}

  std::uint64_t life = 0;  // marks what is submitted from now on

  // The broker takes up to `most` records of one partition.
  void store(std::mt19937_64& random, std::size_t most);
  // Of what was stored or refused, a random number becomes visible to collect().
  void report(std::mt19937_64& random);
  // The producer fails for good: nothing more is stored, all that is not reported is in doubt.
  void die();
  // The process is gone; the network may still have carried a part of each partition's records.
  void crash(std::mt19937_64& random);

  SubmitStatus submit(const OutboxEvent& event, Tag tag) override;
  [[nodiscard]] const Rejection& rejection() const override { return rejection_; }
  StoredProgress read_progress(std::string_view key) override;
  SubmitStatus submit_progress(std::string_view key, NullableBytes record, Tag tag) override;
  std::span<const Delivery> collect(std::size_t limit) override;
  [[nodiscard]] int descriptor() const override { return -1; }
  [[nodiscard]] std::size_t in_flight_events() const override { return in_flight_; }
  [[nodiscard]] std::size_t in_flight_bytes() const override { return 0; }
  [[nodiscard]] std::optional<std::string> fatal_reason() const override { return fatal_; }
  [[nodiscard]] Health health() const override { return {broker_.up, ""}; }

 private:
  struct Sent {
    Tag tag;
    FailedEvent event;
    std::uint64_t life;
  };
  struct Report {
    Tag tag;
    DeliveryStatus status;
    FailedEvent failed;
  };

  void store_front(std::deque<Sent>& queue, bool with_report);

  SimBroker& broker_;
  std::size_t in_flight_max_;
  std::size_t in_flight_ = 0;
  static constexpr std::size_t kPartitions = 3;
  std::array<std::deque<Sent>, kPartitions + 1> queues_;  // the last one: of progress records
  std::deque<Report> unreported_;
  std::deque<Report> visible_;
  std::deque<Report> handed_out_;
  std::vector<Delivery> deliveries_;
  std::optional<std::string> fatal_;
  Rejection rejection_;
};

}  // namespace walrelay::test
