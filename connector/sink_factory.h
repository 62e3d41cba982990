#pragma once
// [sink] of the configuration → the sink.

#include <memory>
#include <string>

#include "connector/config/config.h"
#include "sinks/sink.h"

namespace walrelay {

// Throws SinkConfigError or SinkOpenError. Its log lines go to the log as event "sink".
[[nodiscard]] std::unique_ptr<Sink> make_sink(const Config& config);

// Kind and address, without secrets.
[[nodiscard]] std::string describe_sink(const SinkOptions& options);

}  // namespace walrelay
