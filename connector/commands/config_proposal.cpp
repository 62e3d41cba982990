#include "connector/commands/config_proposal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "connector/config/config_print.h"
#include "connector/postgres/pg_handles.h"
#include "decoder/mapping_check.h"
#include "decoder/presets.h"
#include "decoder/rule_error.h"
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

// "ProcessedAt" and "processed_at" alike.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

bool fits_write_back(const OutboxRules& rules, const std::vector<ColumnInfo>& columns) {
  try {
    return write_back_problems(rules, columns).empty();
  } catch (const RuleError&) {  // the id is not one column
    return false;
  }
}

void append_write_back(std::string& out, const OutboxProposal& outbox) {
  struct Key {
    std::string_view name;
    std::string OutboxRules::* column;
    std::vector<std::string_view> usual;  // names of such columns, plain
  };
  const std::vector<Key> keys = {{"processed_at", &OutboxRules::processed_at, {"processedat"}},
                                 {"attempts", &OutboxRules::attempts, {"attempts", "retrycount"}},
                                 {"error", &OutboxRules::error, {"error"}}};
  std::string proposed;
  for (const auto& [name, column, usual] : keys) {
    if (const auto& given = outbox.rules.*column; !given.empty()) {
      out += fmt::format("{} = {}\n", name, toml_string(given));
      continue;
    }
    for (const auto& info : outbox.columns) {
      if (std::find(usual.begin(), usual.end(), plain_name(info.name)) == usual.end()) continue;
      OutboxRules with = outbox.rules;
      with.*column = info.name;
      if (fits_write_back(with, outbox.columns)) proposed += fmt::format("# {} = {}\n", name, toml_string(info.name));
    }
  }
  if (proposed.empty()) return;
  out += "# To have walrelay mark rows as a polling worker does, which takes UPDATE on these columns:\n" + proposed;
}

void append_outbox(std::string& out, const OutboxProposal& outbox) {
  const auto& rules = outbox.rules;
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
  append_write_back(out, outbox);
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

std::string propose_config(const Config& config, std::span<const OutboxProposal> outboxes, const std::string& role) {
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
  for (const auto& outbox : outboxes) append_outbox(out, outbox);
  append_sink(out, config.sink);
  for (const auto* section : {"delivery", "http", "log"}) {
    if (const auto text = print_changed(section, config); !text.empty()) out += "\n" + text;
  }
  return out;
}

}  // namespace walrelay
