#include "connector/sink_factory.h"

#include <fmt/format.h>

#include "connector/observe/log.h"
#include "connector/told_reasons.h"
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

SinkLimits limits(const DeliveryOptions& delivery) {
  return {.in_flight_events_max = delivery.max_in_flight, .in_flight_bytes_max = delivery.max_in_flight_bytes};
}

}  // namespace

// librdkafka says every half minute for each broker that it cannot be reached, with figures at the end that differ.
SinkLog sink_log() {
  return [told = ToldReasons()](SinkLogLevel level, std::string_view text) mutable {
    const bool trouble = level == SinkLogLevel::warning || level == SinkLogLevel::error;
    const auto reason = text.substr(0, text.find(" (after "));
    if (trouble && !told.worth_telling(reason, std::chrono::steady_clock::now())) return;
    log_line(log_level(level), "sink", text);
  };
}

std::unique_ptr<Sink> make_sink(const Config& config) {
  switch (config.sink.type) {
    case SinkType::kafka:
      return std::make_unique<KafkaSink>(KafkaSinkOptions{.properties = config.sink.kafka,
                                                          .limits = limits(config.delivery),
                                                          .progress_topic = config.delivery.progress_topic,
                                                          .dead_letter_topic = config.delivery.dead_letter_topic,
                                                          .log = sink_log()});
    case SinkType::stdout_lines:
      return std::make_unique<FileSink>(LineFile::standard_output(), limits(config.delivery), sink_log());
    case SinkType::file:
      return std::make_unique<FileSink>(LineFile::open(config.sink.file_path), limits(config.delivery), sink_log());
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
