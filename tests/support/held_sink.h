#pragma once
// A sink that holds what is submitted until the test says what became of it.

#include <deque>
#include <string>
#include <vector>

#include "sinks/dead_letter.h"
#include "sinks/sink.h"

namespace walrelay::test {

class HeldSink final : public Sink {
 public:
  struct Held {
    Tag tag;
    FailedEvent event;
  };

  std::size_t room = 1000;           // in flight; beyond it submit() says full
  std::string reject_value;          // submit() rejects an event with this value
  std::optional<std::string> fatal;  // fatal_reason()
  bool reachable = true;             // health()

  [[nodiscard]] const std::deque<Held>& held() const { return held_; }
  [[nodiscard]] std::string topic(std::size_t i) const { return held_.at(i).event.topic; }
  [[nodiscard]] std::string value(std::size_t i) const { return held_.at(i).event.value.value_or("NULL"); }

  std::optional<bool> more_expected;  // as told last

  // The progress records that were submitted, and whether there is room for one.
  std::vector<std::string> progress;
  bool progress_room = true;

  StoredProgress stored;  // what read_progress() answers
  int reads = 0;

  // What becomes of the oldest one that is not answered yet.
  void answer_progress(DeliveryStatus status) {
    if (status == DeliveryStatus::failed) {
      failed_.emplace_back().rejection = {FailureClass::authorization, "no right"};
    }
    reports_.push_back({progress_tags_.front(), status, status == DeliveryStatus::failed ? &failed_.back() : nullptr});
    progress_tags_.pop_front();
  }
  [[nodiscard]] bool progress_under_way() const { return !progress_tags_.empty(); }

  // The i-th of those held.
  void ack(std::size_t i) { report(i, DeliveryStatus::persisted); }
  void doubt(std::size_t i) { report(i, DeliveryStatus::in_doubt); }
  void fail(std::size_t i, FailureClass failure_class) {
    failed_.push_back(held_.at(i).event);
    failed_.back().rejection = {failure_class, "refused by the test"};
    report(i, DeliveryStatus::failed);
  }
  void ack_all() {
    while (!held_.empty()) ack(0);
  }

  SubmitStatus submit(const OutboxEvent& event, Tag tag) override {
    if (held_.size() >= room) return SubmitStatus::full;
    if (!reject_value.empty() && event.value == reject_value) {
      rejection_ = {FailureClass::too_large, "rejected by the test"};
      return SubmitStatus::rejected;
    }
    held_.push_back({tag, own_event(event, {})});
    return SubmitStatus::accepted;
  }
  [[nodiscard]] const Rejection& rejection() const override { return rejection_; }
  StoredProgress read_progress(std::string_view /*key*/) override {
    ++reads;
    return stored;
  }
  SubmitStatus submit_progress(std::string_view /*key*/, NullableBytes record, Tag tag) override {
    if (!progress_room) return SubmitStatus::full;
    progress.emplace_back(record.value());
    progress_tags_.push_back(tag);
    return SubmitStatus::accepted;
  }
  std::span<const Delivery> collect(std::size_t limit) override {
    handed_out_.clear();
    while (!reports_.empty() && handed_out_.size() < limit) {
      handed_out_.push_back(reports_.front());
      reports_.pop_front();
    }
    return handed_out_;
  }
  void hold() override { held_back_ = true; }
  void expect_more(bool soon) override { more_expected = soon; }
  [[nodiscard]] bool held_back() const { return held_back_; }
  [[nodiscard]] int descriptor() const override { return -1; }
  [[nodiscard]] std::size_t in_flight_events() const override {
    return held_.size() + progress_tags_.size() + reports_.size();
  }
  [[nodiscard]] std::size_t in_flight_bytes() const override { return 0; }
  [[nodiscard]] std::optional<std::string> fatal_reason() const override { return fatal; }
  [[nodiscard]] Health health() const override { return {reachable, reachable ? "" : "said by the test"}; }

 private:
  void report(std::size_t i, DeliveryStatus status) {
    Delivery delivery{held_.at(i).tag, status, nullptr};
    if (status == DeliveryStatus::failed) delivery.failed = &failed_.back();
    reports_.push_back(delivery);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  std::deque<Held> held_;
  std::deque<Tag> progress_tags_;
  std::deque<FailedEvent> failed_;
  std::deque<Delivery> reports_;
  std::vector<Delivery> handed_out_;
  Rejection rejection_;
  bool held_back_ = false;
};

}  // namespace walrelay::test
