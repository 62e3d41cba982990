#include "connector/commands/config_proposal.h"

#include <fmt/format.h>

#include <algorithm>

#include "connector/config/config_print.h"
#include "connector/postgres/pg_handles.h"
#include "decoder/presets.h"
#include "sinks/kafka_options.h"

namespace walrelay {
namespace {

std::string conninfo_value(std::string_view value) {
  if (!value.empty() && value.find_first_of(" '\\\t\n") == std::string_view::npos) return std::string(value);
  std::string quoted = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted += '\'';
}

struct PublicDsn {
  std::string text;
  bool had_secret = false;
};

PublicDsn without_secrets(const std::string& dsn, const std::string& role) {
  PublicDsn result;
  const bool database_alone = dsn.find('=') == std::string::npos && dsn.find("://") == std::string::npos;
  const PgConninfoHandle parsed(database_alone ? nullptr : PQconninfoParse(dsn.c_str(), nullptr));
  const auto append = [&](std::string_view keyword, std::string_view value) {
    result.text += fmt::format("{}{}={}", result.text.empty() ? "" : " ", keyword, conninfo_value(value));
  };
  if (!parsed && !dsn.empty()) append("dbname", dsn);
  for (const auto* option = parsed.get(); option != nullptr && option->keyword != nullptr; ++option) {
    if (option->val == nullptr || (!role.empty() && std::string_view(option->keyword) == "user")) continue;
    const bool secret = std::string_view(option->dispchar) == "*";
    result.had_secret = result.had_secret || secret;
    if (!secret) append(option->keyword, option->val);
  }
  if (!role.empty()) append("user", role);
  return result;
}

void append_template(std::string& out, std::string_view key, const std::optional<std::string>& given,
                     const std::optional<std::string>& preset) {
  if (given && given != preset) out += fmt::format("{} = {}\n", key, toml_string(*given));
}

void append_headers(std::string& out, const OutboxRules& rules, const OutboxRules& preset) {
  std::string table;
  for (const auto& header : rules.headers) {
    if (std::find(preset.headers.begin(), preset.headers.end(), header) != preset.headers.end()) continue;
    table += fmt::format("{}{} = {}", table.empty() ? "" : ", ", toml_string(header.first), toml_string(header.second));
  }
  if (!table.empty()) out += fmt::format("headers = {{ {} }}\n", table);
}

void append_outbox(std::string& out, const OutboxRules& rules) {
  OutboxRules preset;
  preset.table = rules.table;
  preset.messages = rules.messages;
  preset.preset = rules.preset;
  fill_from_preset(preset);
  out += "\n[[outbox]]\n";
  if (!rules.table.empty()) out += fmt::format("table = {}\n", toml_string(rules.table));
  if (!rules.messages.empty()) out += fmt::format("messages = {}\n", toml_string(rules.messages));
  if (!rules.preset.empty()) out += fmt::format("preset = {}\n", toml_string(rules.preset));
  append_template(out, "id", rules.id, preset.id);
  append_template(out, "topic", rules.topic, preset.topic);
  append_template(out, "key", rules.key, preset.key);
  append_template(out, "value", rules.value, preset.value);
  append_template(out, "timestamp", rules.timestamp, preset.timestamp);
  append_headers(out, rules, preset);
  for (const auto& [key, column] : {std::pair{"processed_at", &rules.processed_at},
                                    std::pair{"attempts", &rules.attempts}, std::pair{"error", &rules.error}}) {
    if (!column->empty()) out += fmt::format("{} = {}\n", key, toml_string(*column));
  }
  if (rules.id_header != preset.id_header) out += fmt::format("id_header = {}\n", toml_string(rules.id_header));
  out += print_retention(rules);
  out += print_cloudevents(rules);
}

void append_kafka(std::string& out, const SinkOptions& sink) {
  out += "\n[sink.kafka]\n";
  if (kafka_property(sink.kafka, "bootstrap.servers").empty()) {
    out += "\"bootstrap.servers\" = \"localhost:9092\"   # put the address of your broker here\n";
  }
  for (const auto& [name, value] : sink.kafka) {
    if (is_secret_kafka_property(name)) {
      out += fmt::format("# {} = \"${{file:/run/secrets/...}}\"   # not repeated here\n", toml_string(name));
    } else {
      out += fmt::format("{} = {}\n", toml_string(name), toml_string(value));
    }
  }
}

void append_sink(std::string& out, const SinkOptions& sink) {
  if (sink.type == SinkType::kafka) return append_kafka(out, sink);
  out += fmt::format("\n[sink]\ntype = \"{}\"\n", sink.type == SinkType::file ? "file" : "stdout");
  if (sink.type == SinkType::file) out += fmt::format("\n[sink.file]\npath = {}\n", toml_string(sink.file_path));
}

}  // namespace

std::string propose_config(const Config& config, std::span<const OutboxRules> outboxes, const std::string& role) {
  const auto dsn = without_secrets(config.postgres.dsn, role);
  std::string out = "[postgres]\n";
  if (dsn.had_secret || !role.empty())
    out += "# The password is not repeated here: PGPASSWORD, ~/.pgpass, passfile= or ${file:...}.\n";
  if (!dsn.text.empty()) out += fmt::format("dsn = {}\n", toml_string(dsn.text));
  if (!config.postgres.query_dsn.empty()) {
    out += fmt::format("query_dsn = {}\n", toml_string(without_secrets(config.postgres.query_dsn, role).text));
  }
  out += fmt::format("slot = {}\npublication = {}\n", toml_string(config.postgres.slot),
                     toml_string(config.postgres.publication));
  for (const auto& rules : outboxes) append_outbox(out, rules);
  append_sink(out, config.sink);
  return out;
}

}  // namespace walrelay
