#pragma once
// The effective configuration: what is left after file, environment, flags and defaults have been put together by options.cpp.
// Options that belong to one component stand beside it; this only gathers them.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decoder/failure_class.h"
#include "decoder/outbox_rules.h"

namespace walrelay {

struct PostgresOptions {
  std::string dsn;        // libpq conninfo or URI; secrets in it are never printed
  std::string query_dsn;  // for ordinary connections; "" = dsn
  std::string slot = "walrelay";
  std::string publication = "walrelay";
};

enum class SinkType : std::uint8_t { kafka, stdout_lines, file };

struct SinkOptions {
  SinkType type = SinkType::kafka;
  std::vector<std::pair<std::string, std::string>> kafka;  // librdkafka properties, in the order given
  std::string file_path;
};

enum class OnError : std::uint8_t { halt, dead_letter, skip };

struct DeliveryOptions {
  OnError on_error = OnError::halt;
  std::map<FailureClass, OnError> on_error_by_class;
  std::string dead_letter_topic = "outbox.dead-letter";
  std::size_t max_in_flight = 100'000;                        // events
  std::size_t max_in_flight_bytes = std::size_t{64} << 20U;
  std::chrono::milliseconds stall_disconnect{60'000};
  std::chrono::milliseconds drain_timeout{10'000};

  [[nodiscard]] OnError policy(FailureClass c) const {
    const auto found = on_error_by_class.find(c);
    return found == on_error_by_class.end() ? on_error : found->second;
  }
};

struct HttpOptions {
  std::string listen = "127.0.0.1:9464";  // host:port; port 0 picks a free one; "" = no HTTP
};

enum class LogFormat : std::uint8_t { text, json };
enum class LogLevel : std::uint8_t { debug, info, warning, error };

struct LogOptions {
  LogFormat format = LogFormat::text;
  LogLevel level = LogLevel::info;
};

struct Config {
  PostgresOptions postgres;
  std::vector<OutboxRules> outboxes;
  SinkOptions sink;
  DeliveryOptions delivery;
  HttpOptions http;
  LogOptions log;
};

}  // namespace walrelay
