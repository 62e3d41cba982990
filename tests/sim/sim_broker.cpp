#include "tests/sim/sim_broker.h"

#include <functional>
#include <utility>

namespace walrelay::test {

namespace {

std::size_t below(std::mt19937_64& random, std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
}

const std::string& id_of(const FailedEvent& event) { return *event.headers.at(0).second; }

}  // namespace

SubmitStatus SimSink::submit(const OutboxEvent& event, Tag tag) {
  if (fatal_ || in_flight_ >= in_flight_max_) return SubmitStatus::full;
  ++in_flight_;
  const auto partition = std::hash<std::string_view>{}(*event.key) % kPartitions;
  queues_.at(partition).push_back({tag, own_event(event, {}), life});
  return SubmitStatus::accepted;
}

StoredProgress SimSink::read_progress(std::string_view /*key*/) {
  if (!broker_.holds_progress) return {};
  return {.state = StoredProgress::State::ready, .records = broker_.progress, .reason = {}};
}

SubmitStatus SimSink::submit_progress(std::string_view /*key*/, NullableBytes record, Tag tag) {
  if (fatal_) return SubmitStatus::full;
  ++in_flight_;
  FailedEvent note;
  note.value = *record;
  queues_.back().push_back({tag, std::move(note), life});
  return SubmitStatus::accepted;
}

void SimSink::store_front(std::deque<Sent>& queue, bool with_report) {
  Sent sent = std::move(queue.front());
  queue.pop_front();
  if (&queue == &queues_.back()) {
    broker_.progress.push_back(*sent.event.value);
    if (broker_.progress.size() > SimBroker::kProgressKept) broker_.progress.erase(broker_.progress.begin());
    if (with_report) unreported_.push_back({sent.tag, DeliveryStatus::persisted, {}});
    return;
  }
  const bool refused = broker_.poison.contains(id_of(sent.event)) && sent.event.topic == "events";
  if (!refused) broker_.stored.push_back({sent.event.topic, id_of(sent.event), *sent.event.key, sent.life});
  if (!with_report) return;
  if (refused) sent.event.rejection = {FailureClass::too_large, "refused by the simulated broker"};
  unreported_.push_back(
      {sent.tag, refused ? DeliveryStatus::failed : DeliveryStatus::persisted, std::move(sent.event)});
}

void SimSink::store(std::mt19937_64& random, std::size_t most) {
  if (!broker_.up || fatal_) return;
  auto& queue = queues_.at(below(random, queues_.size()));
  for (std::size_t i = 0; i < most && !queue.empty(); ++i) store_front(queue, true);
}

void SimSink::report(std::mt19937_64& random) {
  if (unreported_.empty()) return;
  for (auto n = below(random, unreported_.size()) + 1; n > 0; --n) {
    visible_.push_back(std::move(unreported_.front()));
    unreported_.pop_front();
  }
}

void SimSink::die() {
  fatal_ = "the simulated producer is out of sequence";
  for (auto& queue : queues_) {
    for (auto& sent : queue) visible_.push_back({sent.tag, DeliveryStatus::in_doubt, {}});
    queue.clear();
  }
  for (auto& lost : unreported_) visible_.push_back({lost.tag, DeliveryStatus::in_doubt, {}});
  unreported_.clear();
}

void SimSink::crash(std::mt19937_64& random) {
  for (auto& queue : queues_) {
    if (!broker_.up) break;
    for (auto n = below(random, queue.size() + 1); n > 0; --n) store_front(queue, false);
  }
}

std::span<const Delivery> SimSink::collect(std::size_t limit) {
  handed_out_.clear();
  deliveries_.clear();
  while (!visible_.empty() && handed_out_.size() < limit) {
    handed_out_.push_back(std::move(visible_.front()));
    visible_.pop_front();
    const Report& report = handed_out_.back();
    deliveries_.push_back(
        {report.tag, report.status, report.status == DeliveryStatus::failed ? &report.failed : nullptr});
    --in_flight_;
  }
  return deliveries_;
}

}  // namespace walrelay::test
