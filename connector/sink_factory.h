#pragma once
// [sink] of the configuration → the sink.

#include <memory>
#include <string>

#include "connector/config/config.h"
#include "sinks/sink.h"
#include "sinks/sink_log.h"

namespace walrelay {

// Throws SinkConfigError or SinkOpenError.
[[nodiscard]] std::unique_ptr<Sink> make_sink(const Config& config);

// Log lines of a sink, event "sink". A warning or an error that it repeats is held back for a while (told_reasons.h).
[[nodiscard]] SinkLog sink_log();

// Kind and address, without secrets.
[[nodiscard]] std::string describe_sink(const SinkOptions& options);

}  // namespace walrelay
