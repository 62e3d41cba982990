#include "connector/sink_factory.h"

#include <fmt/format.h>

#include "connector/observe/log.h"
#include "sinks/file_sink.h"
#include "sinks/kafka_sink.h"
#include "sinks/sink_error.h"

namespace walrelay {

namespace {

LogLevel log_level(SinkLogLevel level) {
  switch (level) {
    case SinkLogLevel::debug:
      return LogLevel::debug;
    case SinkLogLevel::info:
      return LogLevel::info;
    case SinkLogLevel::warning:
      return LogLevel::warning;
    case SinkLogLevel::error:
      return LogLevel::error;
  }
  return LogLevel::error;
}

void log_sink(SinkLogLevel level, std::string_view text) { log_line(log_level(level), "sink", text); }

SinkLimits limits(const DeliveryOptions& delivery) {
  return {.in_flight_events_max = delivery.max_in_flight, .in_flight_bytes_max = delivery.max_in_flight_bytes};
}

}  // namespace

std::unique_ptr<Sink> make_sink(const Config& config) {
  switch (config.sink.type) {
    case SinkType::kafka:
      return std::make_unique<KafkaSink>(
          KafkaSinkOptions{config.sink.kafka, limits(config.delivery), config.delivery.progress_topic, log_sink});
    case SinkType::stdout_lines:
      return std::make_unique<FileSink>(LineFile::standard_output(), limits(config.delivery), log_sink);
    case SinkType::file:
      return std::make_unique<FileSink>(LineFile::open(config.sink.file_path), limits(config.delivery), log_sink);
  }
  throw SinkConfigError("sink.type has no sink");
}

std::string describe_sink(const SinkOptions& options) {
  switch (options.type) {
    case SinkType::kafka:
      return fmt::format("kafka {}", kafka_bootstrap_servers(options.kafka));
    case SinkType::stdout_lines:
      return "stdout";
    case SinkType::file:
      return fmt::format("file {}", options.file_path);
  }
  return "";
}

}  // namespace walrelay
