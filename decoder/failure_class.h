#pragma once
// Why an event cannot be delivered, ever: the classes that the policy `on_error` is configured by.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace walrelay {

enum class FailureClass : std::uint8_t {
  too_large,      // larger than the topic's or the client's limit
  topic,          // topic missing, or a name that Kafka forbids
  authorization,  // the broker refuses this client this topic
  timestamp,      // the broker refuses the record's time
  mapping,        // a template cannot be filled: column gone, NULL topic, bad JSON
  encoding,       // a value cannot be converted, e.g. a bytea that is not hexadecimal
  rejected,       // the broker refused the record for any other reason
};

inline constexpr std::array<std::string_view, 7> kFailureClassNames = {
    "too-large", "topic", "authorization", "timestamp", "mapping", "encoding", "rejected"};

[[nodiscard]] constexpr std::string_view to_string(FailureClass c) {
  return kFailureClassNames[static_cast<std::size_t>(c)];
}

[[nodiscard]] constexpr std::optional<FailureClass> parse_failure_class(std::string_view name) {
  for (std::size_t i = 0; i < kFailureClassNames.size(); ++i) {
    if (kFailureClassNames[i] == name) return static_cast<FailureClass>(i);
  }
  return std::nullopt;
}

}  // namespace walrelay
