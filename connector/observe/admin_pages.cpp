#include "connector/observe/admin_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "connector/observe/log.h"
#include "connector/observe/status_page.h"
#include "connector/observe/time_text.h"
#include "sinks/json_writer.h"

namespace walrelay {
namespace {

constexpr const char* kPlainText = "text/plain; charset=utf-8";
constexpr const char* kJson = "application/json";

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
void write_value(JsonWriter& json, const std::optional<T>& value) {
  if (!value) {
    json.null();
  } else if constexpr (std::is_floating_point_v<T>) {
    json.number(*value);
  } else {
    json.integer(*value);
  }
}

template <typename T>
void write_number(JsonWriter& json, std::string_view name, const std::optional<T>& value) {
  write_value(json.key(name), value);
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
  json.key("in_flight").begin_object();
  json.key("events").integer(metrics.in_flight_events.value());
  json.key("bytes").integer(metrics.in_flight_bytes.value());
  json.end_object();
  json.key("reading_paused").boolean(metrics.backpressure.running());
  json.key("transactions").integer(metrics.transactions.value());
}

bool writes_back(const RelayIdentity& identity, std::size_t outbox) {
  return outbox < identity.write_back.size() && identity.write_back[outbox];
}

void write_write_back(JsonWriter& json, const RelayIdentity& identity, const RelayMetrics& metrics,
                      std::size_t outbox) {
  json.key("write_back");
  if (!writes_back(identity, outbox)) {
    json.null();
    return;
  }
  json.begin_object();
  for (std::size_t result = 0; result < kWriteBackResultNames.size(); ++result) {
    json.key(kWriteBackResultNames[result]).integer(metrics.write_back(outbox, static_cast<WriteBackResult>(result)));
  }
  json.end_object();
}

void write_outboxes(JsonWriter& json, const RelayIdentity& identity, const RelayMetrics& metrics) {
  json.key("outboxes").begin_array();
  for (std::size_t outbox = 0; outbox < metrics.outbox_count(); ++outbox) {
    json.begin_object().key("name").string(identity.outboxes.at(outbox));
    for (std::size_t result = 0; result < kEventResultNames.size(); ++result) {
      json.key(kEventResultNames[result]).integer(metrics.events(outbox, static_cast<EventResult>(result)));
    }
    write_write_back(json, identity, metrics, outbox);
    json.end_object();
  }
  json.end_array();
  json.key("write_back_pending_rows");
  if (std::find(identity.write_back.begin(), identity.write_back.end(), true) == identity.write_back.end()) {
    json.null();
  } else {
    json.integer(metrics.write_back_pending.value());
  }
}

void write_slot(JsonWriter& json, const RelayMetrics& metrics, const std::string& wal_status,
                std::optional<double> seconds_until_lost) {
  write_number(json, "slot_retained_bytes", metrics.slot_retained_bytes.value());
  write_number(json, "slot_safe_bytes", metrics.slot_safe_bytes.value());
  write_number(json, "slot_seconds_until_lost", seconds_until_lost);
  json.key("slot_wal_status");
  if (wal_status.empty()) {
    json.null();
  } else {
    json.string(wal_status);
  }
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

void write_messages(JsonWriter& json) {
  json.key("messages").begin_array();
  for (const auto& message : recent_messages()) {
    json.begin_object().key("time").string(iso_time(message.time)).key("times").integer(message.times);
    json.key("level").string(level_name(message.level)).key("event").string(message.event);
    json.key("text").string(message.text).end_object();
  }
  json.end_array();
}

void write_sample(JsonWriter& json, const HistorySample& sample) {
  json.begin_array().integer(sample.time / 1000 + kPgEpochUnixSeconds * 1000);
  json.string(kRelayStateNames[static_cast<std::size_t>(sample.state)]).boolean(sample.ready);
  write_value(json, sample.lag_seconds);
  write_value(json, sample.lag_bytes);
  write_value(json, sample.retained_bytes);
  write_value(json, sample.safe_bytes);
  json.integer(sample.events).integer(sample.in_flight).end_array();
}

}  // namespace

std::string AdminPages::loop_trouble() const {
  const auto silence = metrics_.heartbeat.age(clock_.now());
  if (silence <= kLoopSilenceMax) return "";
  return fmt::format("the relay's loop has not moved for {} s; restart the process",
                     std::chrono::duration_cast<std::chrono::seconds>(silence).count());
}

std::vector<std::string> AdminPages::reasons_not_ready(const RelayStatus& status) const {
  auto reasons = status.not_ready;
  if (auto trouble = loop_trouble(); !trouble.empty()) reasons.push_back(std::move(trouble));
  return reasons;
}

AdminPage AdminPages::index() const {
  const auto& page = status_page();
  return {200, "text/html; charset=utf-8", page.html, page.content_security_policy};
}

AdminPage AdminPages::config() const { return {200, kPlainText, identity_.configuration}; }

AdminPage AdminPages::metrics() const {
  return {200, "text/plain; version=0.0.4; charset=utf-8",
          metrics_text(identity_, metrics_, clock_, reasons_not_ready(board_.snapshot()).empty())};
}

AdminPage AdminPages::healthz() const {
  const auto trouble = loop_trouble();
  if (trouble.empty()) return {200, kPlainText, "ok\n"};
  return {503, kPlainText, trouble + "\n"};
}

AdminPage AdminPages::readyz() const {
  const auto reasons = reasons_not_ready(board_.snapshot());
  if (reasons.empty()) return {200, kPlainText, "ok\n"};
  AdminPage page{503, kPlainText, ""};
  for (const auto& reason : reasons) page.body.append(reason).append("\n");
  return page;
}

AdminPage AdminPages::status() const {
  const auto status = board_.snapshot();
  const auto reasons = reasons_not_ready(status);
  AdminPage page{200, kJson, ""};
  JsonWriter json(page.body);
  json.begin_object();
  json.key("version").string(identity_.version);
  json.key("slot").string(identity_.slot);
  json.key("role").string(metrics_.active.value() != 0 ? "active" : "standby");
  json.key("state").string(kRelayStateNames[static_cast<std::size_t>(status.state)]);
  json.key("since").string(iso_time(status.since));
  json.key("time").string(iso_time(clock_.wall())).key("started").string(iso_time(identity_.started));
  json.key("ready").boolean(reasons.empty()).key("not_ready").begin_array();
  for (const auto& reason : reasons) json.string(reason);
  json.end_array();
  write_progress(json, metrics_, clock_.wall());
  write_slot(json, metrics_, status.wal_status, history_.seconds_until_lost());
  write_server(json, status.server);
  json.key("sink").string(identity_.sink);
  write_outboxes(json, identity_, metrics_);
  json.key("dead_letters").integer(metrics_.dead_letters.value());
  json.key("unmapped_changes").integer(metrics_.unmapped_changes.value());
  json.key("reconnects").begin_object().key("source").integer(metrics_.reconnects_source.value());
  json.key("sink").integer(metrics_.reconnects_sink.value()).end_object();
  write_last_error(json, status.last_error);
  write_messages(json);
  json.end_object();
  page.body += '\n';
  return page;
}

AdminPage AdminPages::history() const {
  AdminPage page{200, kJson, ""};
  JsonWriter json(page.body);
  json.begin_object()
      .key("interval_seconds")
      .integer(std::chrono::duration_cast<std::chrono::seconds>(History::kInterval).count());
  json.key("fields").begin_array();
  for (const auto* name : {"time_ms", "state", "ready", "lag_seconds", "lag_bytes", "retained_bytes", "safe_bytes",
                           "events", "in_flight"}) {
    json.string(name);
  }
  json.end_array().key("samples").begin_array();
  for (const auto& sample : history_.samples()) write_sample(json, sample);
  json.end_array().end_object();
  page.body += '\n';
  return page;
}

}  // namespace walrelay
