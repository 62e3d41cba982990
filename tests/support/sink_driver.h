#pragma once
// Drives a sink as the relay does: waits on its descriptor, never on time alone.

#include <poll.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "sinks/sink.h"

namespace walrelay::test {

inline constexpr std::chrono::seconds kSinkPatience{30};

struct CollectedDelivery {
  Tag tag = 0;
  DeliveryStatus status{};
  std::optional<FailedEvent> failed;
};

class SinkDriver {
 public:
  explicit SinkDriver(Sink& sink) : sink_(sink) {}

  // Submits, collecting while the sink is full.
  SubmitStatus submit(const OutboxEvent& event, Tag tag) {
    return submit_until(event, tag, std::chrono::steady_clock::now() + kSinkPatience);
  }

  SubmitStatus submit_until(const OutboxEvent& event, Tag tag, std::chrono::steady_clock::time_point deadline) {
    auto status = sink_.submit(event, tag);
    while (status == SubmitStatus::full && !sink_.fatal_reason() && std::chrono::steady_clock::now() < deadline) {
      step();
      status = sink_.submit(event, tag);
    }
    return status;
  }

  // Until `done` is true; false if it never was.
  template <typename Condition>
  bool run_until(Condition done, std::chrono::milliseconds patience = kSinkPatience, std::size_t limit = 1000) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      step(limit);
    }
    return true;
  }

  bool run_until_collected(std::size_t count) {
    return run_until([&] { return deliveries.size() >= count; });
  }

  // One round of the loop: waits until there is something, 50 ms at most, and takes it.
  void step(std::size_t limit = 1000) {
    pollfd waiting{sink_.descriptor(), POLLIN, 0};
    ::poll(&waiting, 1, 50);
    for (const auto& delivery : sink_.collect(limit)) {
      deliveries.push_back({delivery.tag, delivery.status, std::nullopt});
      if (delivery.failed != nullptr) deliveries.back().failed = *delivery.failed;
    }
  }

  std::vector<CollectedDelivery> deliveries;

 private:
  Sink& sink_;
};

}  // namespace walrelay::test
