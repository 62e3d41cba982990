#include "connector/observe/admin_pages.h"

#include <fmt/format.h>

#include <optional>

#include "connector/observe/time_text.h"
#include "sinks/json_writer.h"

namespace walrelay {
namespace {

constexpr const char* kPlainText = "text/plain; charset=utf-8";

void write_position(JsonWriter& json, std::string_view name, const OptionalGauge& gauge) {
  json.key(name);
  const auto value = gauge.value();
  if (value) {
    json.string(Lsn{static_cast<std::uint64_t>(*value)}.to_string());
  } else {
    json.null();
  }
}

template <typename T>
void write_number(JsonWriter& json, std::string_view name, const std::optional<T>& value) {
  json.key(name);
  if (!value) {
    json.null();
  } else if constexpr (std::is_floating_point_v<T>) {
    json.number(*value);
  } else {
    json.integer(*value);
  }
}

void write_progress(JsonWriter& json, const RelayMetrics& metrics, PgTime wall) {
  json.key("positions").begin_object();
  write_position(json, "confirmed", metrics.confirmed_lsn);
  write_position(json, "frontier", metrics.frontier_lsn);
  write_position(json, "server", metrics.server_wal_lsn);
  json.end_object();
  json.key("lag").begin_object();
  write_number(json, "bytes", metrics.lag_bytes());
  write_number(json, "seconds", metrics.lag_seconds(wall));
  json.end_object();
  write_number(json, "slot_retained_bytes", metrics.slot_retained_bytes.value());
  write_number(json, "slot_safe_bytes", metrics.slot_safe_bytes.value());
  json.key("in_flight").begin_object();
  json.key("events").integer(metrics.in_flight_events.value());
  json.key("bytes").integer(metrics.in_flight_bytes.value());
  json.end_object();
  json.key("reading_paused").boolean(metrics.backpressure.running());
  json.key("transactions").integer(metrics.transactions.value());
}

void write_outboxes(JsonWriter& json, const RelayIdentity& identity, const RelayMetrics& metrics) {
  json.key("outboxes").begin_array();
  for (std::size_t outbox = 0; outbox < metrics.outbox_count(); ++outbox) {
    json.begin_object().key("name").string(identity.outboxes.at(outbox));
    for (std::size_t result = 0; result < kEventResultNames.size(); ++result) {
      json.key(kEventResultNames[result]).integer(metrics.events(outbox, static_cast<EventResult>(result)));
    }
    json.end_object();
  }
  json.end_array();
}

void write_server(JsonWriter& json, const std::optional<ServerIdentity>& server) {
  json.key("server");
  if (!server) {
    json.null();
    return;
  }
  json.begin_object().key("host").string(server->host).key("version").string(server->version);
  json.key("tls").boolean(server->tls).end_object();
}

void write_last_error(JsonWriter& json, const std::optional<LastError>& error) {
  json.key("last_error");
  if (!error) {
    json.null();
    return;
  }
  json.begin_object().key("time").string(iso_time(error->time)).key("text").string(error->text).end_object();
}

}  // namespace

std::string AdminPages::loop_trouble() const {
  const auto silence = metrics_.heartbeat.age(clock_.now());
  if (silence <= kLoopSilenceMax) return "";
  return fmt::format("the relay's loop has not moved for {} s; restart the process",
                     std::chrono::duration_cast<std::chrono::seconds>(silence).count());
}

std::string AdminPages::reasons_not_ready() const {
  std::string reasons;
  for (const auto& reason : board_.snapshot().not_ready) reasons.append(reason).append("\n");
  const auto trouble = loop_trouble();
  if (!trouble.empty()) reasons.append(trouble).append("\n");
  return reasons;
}

AdminPage AdminPages::index() const {
  return {200, kPlainText,
          fmt::format(
              "walrelay {}, slot {}\n\n"
              "/metrics  Prometheus\n/healthz  503 if the process hangs\n/readyz   503 with the reasons if it cannot "
              "work\n/status   JSON\n",
              identity_.version, identity_.slot)};
}

AdminPage AdminPages::metrics() const {
  return {200, "text/plain; version=0.0.4; charset=utf-8",
          metrics_text(identity_, metrics_, clock_, reasons_not_ready().empty())};
}

AdminPage AdminPages::healthz() const {
  const auto trouble = loop_trouble();
  if (trouble.empty()) return {200, kPlainText, "ok\n"};
  return {503, kPlainText, trouble + "\n"};
}

AdminPage AdminPages::readyz() const {
  const auto reasons = reasons_not_ready();
  if (reasons.empty()) return {200, kPlainText, "ok\n"};
  return {503, kPlainText, reasons};
}

AdminPage AdminPages::status() const {
  const auto status = board_.snapshot();
  AdminPage page{200, "application/json", ""};
  JsonWriter json(page.body);
  json.begin_object();
  json.key("version").string(identity_.version);
  json.key("slot").string(identity_.slot);
  json.key("role").string(metrics_.active.value() != 0 ? "active" : "standby");
  json.key("state").string(kRelayStateNames[static_cast<std::size_t>(status.state)]);
  json.key("since").string(iso_time(status.since));
  json.key("not_ready").begin_array();
  for (const auto& reason : status.not_ready) json.string(reason);
  json.end_array();
  write_progress(json, metrics_, clock_.wall());
  write_server(json, status.server);
  json.key("sink").string(identity_.sink);
  write_outboxes(json, identity_, metrics_);
  write_last_error(json, status.last_error);
  json.end_object();
  page.body += '\n';
  return page;
}

}  // namespace walrelay
