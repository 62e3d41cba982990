#pragma once
// PgTime as people and machines read it: ISO 8601, UTC, milliseconds.

#include <string>

#include "connector/clock.h"

namespace walrelay {

// "2026-01-31T23:59:59.123Z". `time` is in microseconds since 2000-01-01 UTC and within the years that time_t can hold.
[[nodiscard]] std::string iso_time(PgTime time);

}  // namespace walrelay
