#pragma once
// The time of an event: from the text of a column to Kafka's milliseconds since 1970-01-01 UTC.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace walrelay {

// A timestamptz, timestamp (taken as UTC) or date as PostgreSQL prints them under DateStyle ISO ("2024-02-29
// 12:00:00.123456+02"), the same in ISO 8601 ("2024-02-29T12:00:00Z", as JSON has it), or epoch milliseconds (bigint).
// Parts of a millisecond are cut off. Nothing for infinity, years BC, anything that is no time, and what Kafka cannot
// carry: times up to 1970-01-01 00:00:00 UTC. PostgreSQL manual, "Date/Time Output".
[[nodiscard]] std::optional<std::int64_t> parse_event_time(std::string_view text);

// Appends a time of an event as RFC 3339 has it, in UTC: "2024-02-29T12:00:00.123Z". False, and nothing is appended,
// from the year 10000 on, which it cannot write.
[[nodiscard]] bool append_event_time(std::int64_t ms, std::string& out);

// From PostgreSQL's microseconds since 2000-01-01 UTC; at least 1, since 0 means "now" to librdkafka.
[[nodiscard]] std::int64_t commit_time_ms(std::int64_t commit_time);

}  // namespace walrelay
