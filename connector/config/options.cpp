#include "connector/config/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "connector/config/option_checks.h"
#include "decoder/nearest_name.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kKiB = std::size_t{1} << 10U;
constexpr std::size_t kGiB = std::size_t{1} << 30U;

constexpr std::array<std::string_view, 3> kSinkTypes = {"kafka", "stdout", "file"};
constexpr std::array<std::string_view, 2> kLogFormats = {"text", "json"};
constexpr std::array<std::string_view, 4> kLogLevels = {"debug", "info", "warning", "error"};

constexpr std::string_view kOutboxPrefix = "outbox.";

template <typename Enum, Enum& (*place)(Config&)>
constexpr ChoiceField choice(std::span<const std::string_view> names) {
  return {names, [](Config& config) { return static_cast<std::size_t>(place(config)); },
          [](Config& config, std::size_t index) { place(config) = static_cast<Enum>(index); }};
}

SinkType& sink_type(Config& c) { return c.sink.type; }
LogFormat& log_format(Config& c) { return c.log.format; }
// Whoever sets a part of it wants it.
CloudEventRules& cloud_event(OutboxRules& r) { return r.cloudevents ? *r.cloudevents : r.cloudevents.emplace(); }

LogLevel& log_level(Config& c) { return c.log.level; }

const std::array kOptions = std::to_array<Option>({
    {"postgres.dsn",
     TextField{[](Config& c) -> std::string& { return c.postgres.dsn; }, dsn_problem, "libpq connection string", true,
               [](Config& c) -> std::string& { return c.postgres.dsn_as_given; }},
     "--dsn",
     "how to reach PostgreSQL: libpq key/value string or URI; PG* variables, ~/.pgpass and service files work as with "
     "psql"},
    {"postgres.query_dsn",
     TextField{[](Config& c) -> std::string& { return c.postgres.query_dsn; }, dsn_problem, "libpq connection string",
               true, [](Config& c) -> std::string& { return c.postgres.query_dsn_as_given; }},
     "", "for ordinary connections where they need another address than replication; empty: the same as dsn"},
    {"postgres.slot",
     TextField{[](Config& c) -> std::string& { return c.postgres.slot; }, slot_name_problem, "1 to 63 of a-z, 0-9, _"},
     "--slot", "replication slot: it remembers what has been delivered"},
    {"postgres.publication",
     TextField{[](Config& c) -> std::string& { return c.postgres.publication; }, publication_problem,
               "name, 1 to 63 bytes"},
     "--publication", "publication that contains the outbox tables, exactly as in the catalog"},

    {"outbox.*.table", RuleField{[](OutboxRules& r) -> std::string& { return r.table; }, table_problem, "schema.table"},
     "--table", "outbox table, schema.table, exactly as in the catalog and without quotes"},
    {"outbox.*.messages", RuleField{[](OutboxRules& r) -> std::string& { return r.messages; }, any_text, "text"}, "",
     "instead of a table: the prefix of pg_logical_emit_message(true, 'PREFIX', ...)"},
    {"outbox.*.preset",
     RuleField{[](OutboxRules& r) -> std::string& { return r.preset; }, any_text, "name of a preset"}, "--preset",
     "shape of the table: fills the templates below that are not given"},
    {"outbox.*.id", TemplateField{[](OutboxRules& r) -> std::optional<std::string>& { return r.id; }}, "",
     "event id, by which consumers drop repeats"},
    {"outbox.*.topic", TemplateField{[](OutboxRules& r) -> std::optional<std::string>& { return r.topic; }}, "",
     "topic"},
    {"outbox.*.key", TemplateField{[](OutboxRules& r) -> std::optional<std::string>& { return r.key; }}, "",
     "record key: events with the same key keep their order"},
    {"outbox.*.value", TemplateField{[](OutboxRules& r) -> std::optional<std::string>& { return r.value; }}, "",
     "record value"},
    {"outbox.*.timestamp", TemplateField{[](OutboxRules& r) -> std::optional<std::string>& { return r.timestamp; }}, "",
     "record time, one {column}; without it the commit's time"},
    {"outbox.*.headers", HeadersField{[](OutboxRules& r) -> auto& { return r.headers; }}, "",
     "record headers, a template for each name; one that is NULL is left out"},
    {"outbox.*.id_header", RuleField{[](OutboxRules& r) -> std::string& { return r.id_header; }, any_text, "text"}, "",
     "header that carries the event id; empty: none"},
    {"outbox.*.processed_at",
     RuleField{[](OutboxRules& r) -> std::string& { return r.processed_at; }, column_problem, "name of a column"}, "",
     "column that is NULL until the row has been published: set by write-back, read by --backfill unprocessed"},
    {"outbox.*.attempts",
     RuleField{[](OutboxRules& r) -> std::string& { return r.attempts; }, column_problem, "name of a column"}, "",
     "column that counts how often the row's event was refused for good"},
    {"outbox.*.error",
     RuleField{[](OutboxRules& r) -> std::string& { return r.error; }, column_problem, "name of a column"}, "",
     "column that tells why, the last time"},

    {"outbox.*.retention.keep",
     RuleDurationField{[](OutboxRules& r) -> milliseconds& { return r.retention.keep; }, milliseconds(1'000),
                       milliseconds(315'360'000'000)},
     "", "published rows older than this are deleted; their age is that of the column of timestamp"},
    {"outbox.*.retention.max_rows",
     RuleCountField{[](OutboxRules& r) -> std::size_t& { return r.retention.max_rows; }, 1, 1'000'000'000'000}, "",
     "the oldest published rows are deleted until no more than these are left"},
    {"outbox.*.retention.interval",
     RuleDurationField{[](OutboxRules& r) -> milliseconds& { return r.retention.interval; }, milliseconds(1'000),
                       milliseconds(86'400'000),
                       "each run connects and reads the table, whether there is much to delete or not"},
     "", "from the start of one run to the start of the next"},
    {"outbox.*.retention.batch",
     RuleCountField{[](OutboxRules& r) -> std::size_t& { return r.retention.batch; }, 1, 100'000}, "",
     "rows deleted by one statement; a pause follows each"},
    {"outbox.*.retention.after",
     RuleField{[](OutboxRules& r) -> std::string& { return r.retention.after; }, after_problem, "`ack`"}, "",
     "`ack`: a row is deleted as soon as its event has been acknowledged; one whose event could not be delivered "
     "stays"},

    {"outbox.*.cloudevents.source",
     TemplateField{[](OutboxRules& r) -> auto& { return cloud_event(r).source; }, "required"}, "",
     "where the event happened, a URI reference: /shop/orders"},
    {"outbox.*.cloudevents.type",
     TemplateField{[](OutboxRules& r) -> auto& { return cloud_event(r).type; }, "as the header `type`"}, "",
     "what happened: com.example.{type}"},
    {"outbox.*.cloudevents.subject",
     TemplateField{[](OutboxRules& r) -> auto& { return cloud_event(r).subject; }, "none"}, "",
     "what it happened to, within the source: {payload/orderId}"},
    {"outbox.*.cloudevents.dataschema",
     TemplateField{[](OutboxRules& r) -> auto& { return cloud_event(r).dataschema; }, "none"}, "",
     "URI of the schema that the value follows"},
    {"outbox.*.cloudevents.datacontenttype",
     TemplateField{[](OutboxRules& r) -> auto& { return cloud_event(r).datacontenttype; }, "application/json"}, "",
     "media type of the value; empty: none"},
    {"outbox.*.cloudevents.extensions",
     HeadersField{[](OutboxRules& r) -> auto& { return cloud_event(r).extensions; }, "none"}, "",
     "extension attributes, a template for each name of a-z and 0-9; one that is NULL is left out"},

    {"sink.type", choice<SinkType, sink_type>(kSinkTypes), "--sink", "where events go"},
    {"sink.kafka", PropertiesField{}, "", "any librdkafka property, e.g. \"bootstrap.servers\" = \"broker:9092\""},
    {"sink.file.path", TextField{[](Config& c) -> std::string& { return c.sink.file_path; }, any_text, "path"}, "",
     "file that gets one JSON object a line"},

    {"delivery.guarantee", ConstantField{"at-least-once"}, "", "what is promised about repeats"},
    {"delivery.on_error", PolicyField{}, "", "what happens to an event that can never be delivered"},
    {"delivery.dead_letter_topic",
     TextField{[](Config& c) -> std::string& { return c.delivery.dead_letter_topic; }, topic_problem, "topic name"}, "",
     "where dead-letter sends them; where it is missing, it is made for records of up to 64 MiB"},
    {"delivery.max_in_flight",
     CountField{[](Config& c) -> std::size_t& { return c.delivery.max_in_flight; }, 1, 10'000'000}, "",
     "events that may wait for their acknowledgement; then reading pauses"},
    {"delivery.max_in_flight_bytes",
     SizeField{[](Config& c) -> std::size_t& { return c.delivery.max_in_flight_bytes; }, kKiB, 64 * kGiB}, "",
     "the same in bytes; one larger event is admitted alone"},
    {"delivery.progress_topic",
     TextField{[](Config& c) -> std::string& { return c.delivery.progress_topic; }, topic_problem, "topic name"}, "",
     "compacted topic that tells how far events were delivered, so that gaps are seen; empty: none"},
    {"delivery.stall_disconnect",
     DurationField{[](Config& c) -> milliseconds& { return c.delivery.stall_disconnect; }, milliseconds(1'000),
                   milliseconds(86'400'000)},
     "",
     "after so long a pause the relay disconnects, so that PostgreSQL can shut down, and comes back when the sink "
     "does"},
    {"delivery.drain_timeout",
     DurationField{[](Config& c) -> milliseconds& { return c.delivery.drain_timeout; }, milliseconds(0),
                   milliseconds(3'600'000)},
     "", "how long SIGTERM and SIGINT wait for acknowledgements"},

    {"http.listen", TextField{[](Config& c) -> std::string& { return c.http.listen; }, listen_problem, "host:port"}, "",
     "host:port of /metrics, /healthz, /readyz and /status; port 0: any free one; empty: no HTTP"},

    {"log.format", choice<LogFormat, log_format>(kLogFormats), "--log-format", "form of the lines on stderr"},
    {"log.level", choice<LogLevel, log_level>(kLogLevels), "--log-level", "the least important lines that are shown"},
});

constexpr std::array kSections = std::to_array<Section>({
    {"postgres", "Where the outbox is."},
    {"outbox.*", "One [[outbox]], with two brackets, for each outbox table."},
    {"outbox.*.retention",
     "Rows that are published and no longer wanted are deleted; below the [[outbox]] that it is for."},
    {"outbox.*.cloudevents",
     "CloudEvents 1.0 in binary mode: attributes as headers `ce_...`; below the [[outbox]] that it is for."},
    {"sink", "Where events go."},
    {"sink.kafka", "Every librdkafka property, passed through."},
    {"sink.file", "For sink.type = \"file\"."},
    {"delivery", "Limits, and what happens when something fails."},
    {"http", "Metrics and health."},
    {"log", "Log lines go to stderr."},
});

const Option* exact_option(std::string_view key) {
  const auto* found = std::find_if(kOptions.begin(), kOptions.end(), [&](const Option& o) { return o.key == key; });
  return found == kOptions.end() ? nullptr : found;
}

bool takes_rest(const Option& option) {
  return std::holds_alternative<HeadersField>(option.field) || std::holds_alternative<PolicyField>(option.field) ||
         std::holds_alternative<PropertiesField>(option.field);
}

}  // namespace

std::span<const Option> options() { return kOptions; }
std::span<const Section> sections() { return kSections; }

OutboxKey split_outbox_key(std::string_view key) {
  if (!key.starts_with(kOutboxPrefix)) return {std::string(key), std::nullopt};
  const std::string_view tail = key.substr(kOutboxPrefix.size());
  const std::string_view number = tail.substr(0, tail.find('.'));
  std::size_t index = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), index);
  if (error != std::errc{} || stop != number.data() + number.size()) return {std::string(key), std::nullopt};
  return {fmt::format("{}*{}", kOutboxPrefix, tail.substr(number.size())), index};
}

KeyMatch find_option(std::string_view key) {
  const OutboxKey split = split_outbox_key(key);
  const std::size_t outbox = split.outbox.value_or(0);
  if (const Option* option = exact_option(split.pattern)) return {option, outbox, {}};
  for (const Option& option : kOptions) {
    if (!takes_rest(option) || split.pattern.size() <= option.key.size() + 1) continue;
    if (split.pattern.starts_with(option.key) && split.pattern[option.key.size()] == '.') {
      return {&option, outbox, split.pattern.substr(option.key.size() + 1)};
    }
  }
  return {};
}

std::string nearest_key(std::string_view key) {
  const OutboxKey split = split_outbox_key(key);
  std::vector<std::string_view> names;
  names.reserve(kOptions.size());
  for (const Option& option : kOptions) names.push_back(option.key);
  std::string_view near = nearest_name(split.pattern, names);
  if (near.empty()) {
    // The right name under the wrong section, or under none.
    const auto name = std::string_view(split.pattern).substr(split.pattern.rfind('.') + 1);
    const auto ends = [&](std::string_view known) { return known.substr(known.rfind('.') + 1) == name; };
    const auto found = std::find_if(names.begin(), names.end(), ends);
    if (found == names.end()) return {};
    near = *found;
  }
  const auto star = near.find('*');
  if (star == std::string_view::npos) return std::string(near);
  return fmt::format("{}{}{}", near.substr(0, star), split.outbox.value_or(0), near.substr(star + 1));
}

}  // namespace walrelay
