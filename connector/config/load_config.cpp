#include "connector/config/load_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "connector/config/config_file.h"
#include "connector/config/dsn.h"
#include "connector/config/variables.h"

namespace walrelay {
namespace {

// --table on top of [[outbox]] sections could mean "only this one", and then the events of the others would be
// confirmed without having been published. So it means nothing.
void check_one_origin_of_outboxes(const std::vector<Setting>& file, const std::vector<Setting>& flags) {
  const auto of_outbox = [](const Setting& s) { return s.key.starts_with("outbox."); };
  const auto by_flag = [](const Setting& s) { return s.origin == "--table" || s.origin == "--preset"; };
  const auto in_file = std::find_if(file.begin(), file.end(), of_outbox);
  const auto flag = std::find_if(flags.begin(), flags.end(), by_flag);
  if (in_file == file.end() || flag == flags.end()) return;
  refuse(*flag, fmt::format("the file has an [[outbox]] already ({}); leave the flag out, or write --set {}=...",
                            in_file->origin, flag->key));
}

bool has_property(const Config& config, std::string_view name) {
  const auto& all = config.sink.kafka;
  return std::any_of(all.begin(), all.end(), [&](const auto& p) { return p.first == name && !p.second.empty(); });
}

void reread(std::string& text, const std::string& as_given) {
  if (as_given.find("${file:") == std::string::npos) return;
  try {
    std::string now = expand_variables(as_given, {});
    if (conninfo_problem(now).empty()) text = std::move(now);
  } catch (const ConfigError&) {  // it is being replaced, or is gone: the old one is as good as any
  }
}

}  // namespace

Config load_config(const ConfigRequest& request) {
  std::vector<Setting> file;
  if (!request.file.empty()) file = read_config_file(request.file);
  check_one_origin_of_outboxes(file, request.settings);
  ConfigBuilder builder;
  for (const Setting& setting : file) builder.apply(setting);
  for (const Setting& setting : request.settings) builder.apply(setting);
  return builder.finish(request.mapping);
}

PostgresOptions reread_secrets(PostgresOptions options) {
  reread(options.dsn, options.dsn_as_given);
  reread(options.query_dsn, options.query_dsn_as_given);
  return options;
}

void require_outbox(const Config& config, std::string_view command) {
  if (!config.outboxes.empty()) return;
  throw ConfigError(
      fmt::format("{} needs an outbox: give --table SCHEMA.TABLE, or a file with [[outbox]] by -c", command));
}

void require_table(const Config& config, std::string_view command) {
  require_outbox(config, command);
  const auto& outboxes = config.outboxes;
  if (std::any_of(outboxes.begin(), outboxes.end(), [](const auto& rules) { return !rules.table.empty(); })) return;
  throw ConfigError(fmt::format("{} reads rows of outbox tables, and messages are in none", command));
}

void require_sink(const Config& config, std::string_view command) {
  switch (config.sink.type) {
    case SinkType::kafka:
      // test.mock.num.brokers makes librdkafka bring its own.
      if (has_property(config, "bootstrap.servers") || has_property(config, "metadata.broker.list") ||
          has_property(config, "test.mock.num.brokers")) {
        return;
      }
      throw ConfigError(
          fmt::format("{} needs a broker: give --brokers HOST:PORT, \"bootstrap.servers\" under [sink.kafka], or "
                      "another sink (--sink stdout)",
                      command));
    case SinkType::file:
      if (!config.sink.file_path.empty()) return;
      throw ConfigError(fmt::format("{} needs sink.file.path: give --set sink.file.path=PATH", command));
    case SinkType::stdout_lines:
      return;
  }
}

}  // namespace walrelay
