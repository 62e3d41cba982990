#pragma once
// The effective configuration: what is left after file, environment, flags and defaults have been put together by
// options.cpp. Options that belong to one component stand beside it; this only gathers them.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "connector/delivery_policy.h"
#include "decoder/outbox_rules.h"

namespace walrelay {

struct PostgresOptions {
  std::string dsn;        // libpq conninfo or URI; secrets in it are never printed
  std::string query_dsn;  // for ordinary connections; "" = dsn
  std::string slot = "walrelay";
  std::string publication = "walrelay";
  // As they were given, with ${file:...} in them: see reread_secrets() in load_config.h.
  std::string dsn_as_given;
  std::string query_dsn_as_given;
};

enum class SinkType : std::uint8_t { kafka, stdout_lines, file };

struct SinkOptions {
  SinkType type = SinkType::kafka;
  std::vector<std::pair<std::string, std::string>> kafka;  // librdkafka properties, in the order given
  std::string file_path;
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
