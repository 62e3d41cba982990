#pragma once
// [delivery]: what bounds the events in flight, and what becomes of an event that can never be delivered.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "connector/skip_list.h"
#include "decoder/failure_class.h"

namespace walrelay {

enum class OnError : std::uint8_t {
  halt,         // stop before it, confirm nothing beyond
  dead_letter,  // publish it to the dead-letter topic and go on
  skip,         // log, count, go on
};

struct DeliveryOptions {
  OnError on_error = OnError::halt;
  std::map<FailureClass, OnError> on_error_by_class;
  std::string dead_letter_topic = "outbox.dead-letter";
  std::string progress_topic = "walrelay.progress";  // where the sink can hold a progress record; "" = none
  std::size_t max_in_flight = 100'000;               // events
  std::size_t max_in_flight_bytes = std::size_t{64} << 20U;
  std::chrono::milliseconds stall_disconnect{60'000};
  std::chrono::milliseconds drain_timeout{10'000};
  SkipList skip;  // of the command line alone: these are not even sent

  [[nodiscard]] OnError policy(FailureClass c) const {
    const auto found = on_error_by_class.find(c);
    return found == on_error_by_class.end() ? on_error : found->second;
  }
};

}  // namespace walrelay
