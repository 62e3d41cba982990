#pragma once
// Kafka's rule for topic names (Kafka documentation, org.apache.kafka.common.internals.Topic).

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace walrelay {

inline constexpr std::size_t kTopicNameBytesMax = 249;

[[nodiscard]] constexpr bool is_topic_name(std::string_view name) {
  if (name.empty() || name.size() > kTopicNameBytesMax || name == "." || name == "..") return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

}  // namespace walrelay
