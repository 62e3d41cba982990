// `walrelay status`.

#include <fmt/format.h>
#include <httplib.h>

#include <charconv>
#include <optional>

#include "connector/commands/command_support.h"
#include "connector/commands/commands.h"
#include "connector/observe/quantity_text.h"
#include "connector/postgres/catalog.h"
#include "connector/postgres/slot_admin.h"
#include "sinks/json_writer.h"

namespace walrelay {
namespace {

struct SlotLine {
  SlotInfo slot;
  std::optional<double> lag_seconds;  // unset: cannot be told from here
};

// What the relay itself says, if it runs on this host: the server cannot tell the age of what a session has not
// confirmed.
std::optional<double> ask_instance(const std::string& listen, const std::string& slot) {
  if (listen.empty()) return std::nullopt;
  httplib::Client client("http://" + listen);
  client.set_connection_timeout(std::chrono::seconds(1));
  client.set_read_timeout(std::chrono::seconds(2));
  const auto answer = client.Get("/metrics");
  if (!answer || answer->status != 200) return std::nullopt;
  const auto sample = fmt::format("\nwalrelay_lag_seconds{{slot=\"{}\"}} ", slot);
  const auto at = answer->body.find(sample);
  if (at == std::string::npos) return std::nullopt;
  const char* begin = answer->body.data() + at + sample.size();
  double seconds = 0;
  const auto parsed = std::from_chars(begin, answer->body.data() + answer->body.size(), seconds);
  return parsed.ec == std::errc{} ? std::optional(seconds) : std::nullopt;
}

std::optional<double> lag_seconds(PgConnection& connection, const Config& config, const SlotInfo& slot) {
  if (slot.lost() || !slot.confirmed_lsn || slot.type != "logical") return std::nullopt;
  if (slot.lag_bytes == 0) return 0.0;
  if (slot.active) return ask_instance(config.http.listen, slot.name);
  return oldest_commit_age(connection, slot, config.postgres.publication);
}

// Its age is told of the configured slot alone.
std::string lag_text(const SlotLine& line, const Config& config) {
  const auto& slot = line.slot;
  if (slot.type != "logical") return "no position is confirmed: a physical slot";
  auto text = slot.confirmed_lsn ? "confirmed " + slot.confirmed_lsn->to_string() : "no position is confirmed yet";
  if (slot.lag_bytes) text += ", lag " + bytes_text(*slot.lag_bytes);
  if (line.lag_seconds) return text + ", " + duration_text(*line.lag_seconds);
  if (slot.name != config.postgres.slot || slot.lost()) return text;
  return text + ", how old is not known here" + (slot.active ? ": ask the relay by --url" : "");
}

std::string state_of(const SlotInfo& slot) {
  if (slot.lost()) return "lost";
  if (slot.active) return "active, " + describe_user(slot);
  return "not in use";
}

std::string as_text(const std::vector<SlotLine>& lines, const Config& config) {
  std::string out;
  for (const auto& line : lines) {
    const auto& slot = line.slot;
    out += fmt::format("slot {}: {}\n", slot.name, state_of(slot));
    if (slot.type == "logical") out += fmt::format("  plugin {}, database {}\n", slot.plugin, slot.database);
    out += fmt::format("  {}\n", lag_text(line, config));
    if (!slot.restart_lsn || !slot.retained_bytes) {
      out += "  retains no WAL\n";
      continue;
    }
    out += fmt::format("  retained WAL {} ({}), {}\n", bytes_text(*slot.retained_bytes), slot.wal_status,
                       room_text(slot.safe_wal_bytes));
  }
  return out;
}

void write_optional(JsonWriter& json, std::string_view key, const std::optional<std::int64_t>& number) {
  json.key(key);
  if (number) {
    json.integer(*number);
  } else {
    json.null();
  }
}

void write_lsn(JsonWriter& json, std::string_view key, const std::optional<Lsn>& lsn) {
  json.key(key);
  if (lsn) {
    json.string(lsn->to_string());
  } else {
    json.null();
  }
}

void write_instance(JsonWriter& json, const SlotInfo& slot) {
  json.key("instance");
  if (slot.active_pid == 0) {
    json.null();
    return;
  }
  json.begin_object().key("pid").integer(slot.active_pid).key("application_name").string(slot.application_name);
  json.key("client_address").string(slot.client_address).key("role").string(slot.role).end_object();
}

void write_slot(JsonWriter& json, const SlotLine& line, const Config& config) {
  const auto& slot = line.slot;
  json.begin_object().key("slot").string(slot.name).key("configured").boolean(slot.name == config.postgres.slot);
  json.key("plugin").string(slot.plugin).key("type").string(slot.type).key("database").string(slot.database);
  json.key("active").boolean(slot.active).key("lost").boolean(slot.lost()).key("wal_status").string(slot.wal_status);
  write_lsn(json, "restart_lsn", slot.restart_lsn);
  write_lsn(json, "confirmed_lsn", slot.confirmed_lsn);
  write_optional(json, "lag_bytes", slot.lag_bytes);
  json.key("lag_seconds");
  if (line.lag_seconds) {
    json.number(*line.lag_seconds);
  } else {
    json.null();
  }
  write_optional(json, "retained_bytes", slot.retained_bytes);
  write_optional(json, "safe_wal_bytes", slot.safe_wal_bytes);
  write_instance(json, slot);
  json.end_object();
}

std::string as_json(const std::vector<SlotLine>& lines, const ServerInfo& server, const Config& config) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("server_version").string(server.version).key("wal_lsn").string(server.wal_lsn.to_string());
  json.key("slots").begin_array();
  for (const auto& line : lines) write_slot(json, line, config);
  json.end_array().end_object();
  return out + "\n";
}

ExitCode status(const Config& config, const StatusFlags& flags) {
  PgConnection connection(query_conninfo(config));
  const auto server = read_server(connection);
  std::vector<SlotLine> lines;
  bool found = false;
  for (auto& slot : read_slots(connection)) {
    const bool configured = slot.name == config.postgres.slot;
    found = found || configured;
    // Only the own slot's publication is known, and looking into a slot costs the server work.
    const auto seconds = configured ? lag_seconds(connection, config, slot) : std::nullopt;
    lines.push_back({std::move(slot), seconds});
  }
  print_out(flags.json ? as_json(lines, server, config) : as_text(lines, config));
  if (found) return ExitCode::done;
  say(fmt::format("walrelay status: there is no slot \"{}\": walrelay init makes it", config.postgres.slot));
  return ExitCode::check_failed;
}

}  // namespace

ExitCode status_command(const Config& config, const StatusFlags& flags) {
  return guarded("status", [&] { return status(config, flags); });
}

}  // namespace walrelay
