#pragma once
// The few numbers that are taken from librdkafka's statistics (STATISTICS.md).

#include <chrono>
#include <optional>
#include <string_view>

namespace walrelay {

// The mean round trip to the brokers, weighted by requests; empty if there was none in the interval. `json` is a
// statistics document of librdkafka; anything else gives empty. It is searched for the brokers' "rtt" windows, not
// parsed: their names occur nowhere else.
[[nodiscard]] std::optional<std::chrono::microseconds> mean_round_trip(std::string_view json);

// Whether there is a connection to any broker that is ready for requests.
[[nodiscard]] bool any_broker_is_up(std::string_view json);

}  // namespace walrelay
