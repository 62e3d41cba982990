#pragma once
// Values out of a broker's answer to DescribeConfigs.

#include <librdkafka/rdkafka.h>

#include <cstddef>
#include <optional>
#include <string_view>

namespace walrelay {

// Valid as long as the event of the answer; nothing if the resource could not be looked at or has no such entry.
[[nodiscard]] std::optional<std::string_view> kafka_config_value(const rd_kafka_ConfigResource_t* resource,
                                                                 std::string_view name);

[[nodiscard]] std::optional<std::size_t> kafka_config_number(const rd_kafka_ConfigResource_t* resource,
                                                             std::string_view name);

}  // namespace walrelay
