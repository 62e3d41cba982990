#include "sinks/kafka_config_values.h"

#include <charconv>

namespace walrelay {

std::optional<std::string_view> kafka_config_value(const rd_kafka_ConfigResource_t* resource, std::string_view name) {
  std::size_t count = 0;
  const rd_kafka_ConfigEntry_t** entries = rd_kafka_ConfigResource_configs(resource, &count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    if (rd_kafka_ConfigEntry_name(entries[i]) == name && value != nullptr) return value;
  }
  return std::nullopt;
}

std::optional<std::size_t> kafka_config_number(const rd_kafka_ConfigResource_t* resource, std::string_view name) {
  const auto text = kafka_config_value(resource, name);
  if (!text) return std::nullopt;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return number;
}

}  // namespace walrelay
