#include "sinks/kafka_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "decoder/nearest_name.h"
#include "sinks/sink_error.h"

namespace walrelay {
namespace {

constexpr KafkaDefault kDefaults[] = {
    {"client.id", "walrelay"},
    // Invariants 1 to 3: every in-sync replica has it, retries neither repeat nor reorder, an outage is waited for.
    {"enable.idempotence", "true"},
    {"acks", "all"},
    {"message.timeout.ms", "0"},
    // The default of 10 s would keep events waiting that long after a broker has come back.
    {"reconnect.backoff.max.ms", "1000"},
    // The topic's own limit decides, and so do the relay's own limits of what is in flight.
    {"message.max.bytes", "1000000000"},
    {"queue.buffering.max.messages", "10000000"},
    {"queue.buffering.max.kbytes", "2097151"},
    // The partition that Java clients choose.
    {"partitioner", "murmur2_random"},
    // While there is a backlog; otherwise everything is sent at once (kafka_flusher.h).
    {"linger.ms", "5"},
    {"socket.nagle.disable", "true"},
    {"statistics.interval.ms", "1000"},
    {"allow.auto.create.topics", "true"},
    {"log.queue", "true"},
};

constexpr std::string_view kAcksReason = "an event is confirmed only when all in-sync replicas have it (acks=all)";
constexpr std::string_view kTimeoutReason =
    "an outage of the brokers is waited for, however long; with a time-out events would be given up";
constexpr std::string_view kRetriesReason =
    "a retriable error is retried until it heals; with a limit events would be given up";
constexpr std::string_view kEventsReason =
    "walrelay takes librdkafka's reports, errors and logs through one queue of its own";

constexpr KafkaRefusal kRefusals[] = {
    {"acks", kAcksReason},
    {"request.required.acks", kAcksReason},
    {"enable.idempotence", "without the idempotent producer retries would repeat and reorder events"},
    {"message.timeout.ms", kTimeoutReason},
    {"delivery.timeout.ms", kTimeoutReason},
    {"retries", kRetriesReason},
    {"message.send.max.retries", kRetriesReason},
    {"transactional.id", "transactions belong to the guarantee of delivery, not to the connection"},
    {"queuing.strategy", "events of one key would leave in another order than they were committed in"},
    {"enable.gapless.guarantee", "what follows a refused event is decided by delivery.on_error"},
    {"delivery.report.only.error", "an event that is not reported would never be confirmed"},
    {"statistics.interval.ms", "whether a broker can be reached is seen from the statistics of each second"},
    {"enabled_events", kEventsReason},
    {"log.queue", kEventsReason},
    {"opaque", kEventsReason},
    {"default_topic_conf", "it can be set by a program only; topic properties are given by their own names"},
    {"interceptors", "it can be set by a program only"},
};

std::string_view refusal_reason(std::string_view name) {
  const auto* const found = std::ranges::find(kRefusals, name, &KafkaRefusal::name);
  if (found != std::end(kRefusals)) return found->reason;
  return name.ends_with("_cb") ? kEventsReason : std::string_view{};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// librdkafka's own table of properties as text: "name | C/P | range | default | ...", one a line.
std::string property_table() {
  char* text = nullptr;
  std::size_t size = 0;
  {
    const std::unique_ptr<std::FILE, CloseFile> stream(::open_memstream(&text, &size));
    if (!stream) return {};
    rd_kafka_conf_properties_show(stream.get());
  }
  const std::unique_ptr<char, decltype([](char* memory) { std::free(memory); })> owner(text);
  return {text, size};
}

std::vector<std::string_view> property_names(std::string_view table) {
  std::vector<std::string_view> names;
  while (!table.empty()) {
    const auto line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(table.size(), line.size() + 1));
    const auto name = line.substr(0, line.find(' '));
    const bool is_property = line.find('|') != std::string_view::npos && !name.empty() && name != "Property";
    if (is_property && name.find_first_of("-|") == std::string_view::npos) names.push_back(name);
  }
  return names;
}

[[noreturn]] void throw_unknown(std::string_view name) {
  const std::string table = property_table();
  const auto names = property_names(table);
  const auto near = nearest_name(name, names);
  const std::string hint =
      near.empty() ? "see librdkafka's CONFIGURATION.md for the names" : fmt::format("did you mean \"{}\"?", near);
  throw SinkConfigError(
      fmt::format("sink.kafka: librdkafka {} has no property \"{}\": {}", rd_kafka_version_str(), name, hint));
}

void set_property(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  std::array<char, 512> reason{};
  switch (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), reason.data(), reason.size())) {
    case RD_KAFKA_CONF_OK:
      return;
    case RD_KAFKA_CONF_UNKNOWN:
      throw_unknown(name);
    default:
      // librdkafka repeats the value in its message.
      throw SinkConfigError(is_secret_kafka_property(name)
                                ? fmt::format("sink.kafka: librdkafka does not accept the value of \"{}\"", name)
                                : fmt::format("sink.kafka: \"{}\": {}", name, reason.data()));
  }
}

std::string_view sasl_mechanism(const KafkaProperties& properties) {
  const auto given = kafka_property(properties, "sasl.mechanisms");
  const auto mechanism = given.empty() ? kafka_property(properties, "sasl.mechanism") : given;
  return mechanism.empty() ? "GSSAPI" : mechanism;  // librdkafka's default
}

}  // namespace

std::span<const KafkaDefault> kafka_defaults() { return kDefaults; }

std::span<const KafkaRefusal> kafka_refusals() { return kRefusals; }

std::string_view kafka_property(const KafkaProperties& properties, std::string_view name) {
  const auto found =
      std::find_if(properties.rbegin(), properties.rend(), [&](const auto& p) { return p.first == name; });
  return found == properties.rend() ? std::string_view{} : std::string_view{found->second};
}

std::string_view kafka_bootstrap_servers(const KafkaProperties& properties) {
  const auto brokers = kafka_property(properties, "bootstrap.servers");
  return brokers.empty() ? kafka_property(properties, "metadata.broker.list") : brokers;
}

KafkaConfHandle make_kafka_conf(const KafkaProperties& properties) {
  KafkaConfHandle conf(rd_kafka_conf_new());
  rd_kafka_conf_set_events(conf.get(),
                           RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_STATS | RD_KAFKA_EVENT_LOG);
  for (const auto& [name, value] : kDefaults) set_property(conf.get(), name, value);
  for (const auto& [name, value] : properties) {
    if (const auto reason = refusal_reason(name); !reason.empty()) {
      throw SinkConfigError(fmt::format("sink.kafka: \"{}\" cannot be set: {}; remove it", name, reason));
    }
    set_property(conf.get(), name, value);
  }
  if (kafka_property(properties, "partitioner") == "random") {
    throw SinkConfigError(
        "sink.kafka: \"partitioner\" cannot be \"random\": events of one key would go to different partitions, where "
        "their order is lost; remove it");
  }
  const bool has_brokers = !kafka_bootstrap_servers(properties).empty();
  if (!has_brokers && kafka_property(properties, "test.mock.num.brokers").empty()) {
    throw SinkConfigError(
        "sink.kafka: \"bootstrap.servers\" is missing: name one or more brokers as host:port (or use --brokers)");
  }
  return conf;
}

KafkaClientHandle make_kafka_client(KafkaConfHandle conf, rd_kafka_type_t type) {
  std::array<char, 512> reason{};
  KafkaClientHandle client(rd_kafka_new(type, conf.get(), reason.data(), reason.size()));
  if (!client) throw SinkConfigError(fmt::format("sink.kafka: {}", reason.data()));
  static_cast<void>(conf.release());  // the client's now
  return client;
}

void validate_kafka_properties(const KafkaProperties& properties) { static_cast<void>(make_kafka_conf(properties)); }

std::string scram_remark(const KafkaProperties& properties) {
  constexpr int kScramFixed = 0x020601ff;  // 2.6.1
  if (!sasl_mechanism(properties).starts_with("SCRAM") || rd_kafka_version() >= kScramFixed) return {};
  return fmt::format(
      "SASL/SCRAM of librdkafka {} sends a wrong nonce, which Kafka 4 refuses as invalid credentials: use librdkafka "
      "2.6.1 or "
      "newer, or SASL/PLAIN over TLS",
      rd_kafka_version_str());
}

std::string login_remark(const KafkaProperties& properties) {
  const auto user = kafka_property(properties, "sasl.username");
  const auto scram = scram_remark(properties);
  return fmt::format(" (SASL/{}{}{}){}{}", sasl_mechanism(properties), user.empty() ? "" : ", user ", user,
                     scram.empty() ? "" : "; ", scram);
}

std::vector<std::string> kafka_warnings(const KafkaProperties& properties) {
  std::vector<std::string> warnings;
  if (auto remark = scram_remark(properties); !remark.empty()) warnings.push_back("sink.kafka: " + std::move(remark));
  return warnings;
}

bool is_secret_kafka_property(std::string_view name) {
  constexpr std::string_view kMarks[] = {"password",         "secret",      "passphrase",
                                         "private.key",      "ssl.key.pem", "sasl.oauthbearer.config",
                                         "sasl.jaas.config", "kinit.cmd"};
  return std::ranges::any_of(kMarks, [&](std::string_view mark) { return name.find(mark) != std::string_view::npos; });
}

std::string shown_kafka_value(std::string_view name, std::string_view value) {
  return is_secret_kafka_property(name) && !value.empty() ? std::string("********") : std::string(value);
}

std::string kafka_conf_value(const rd_kafka_conf_t* conf, const char* name) {
  std::size_t size = 0;
  if (rd_kafka_conf_get(conf, name, nullptr, &size) != RD_KAFKA_CONF_OK || size == 0) return {};
  std::string value(size, '\0');
  if (rd_kafka_conf_get(conf, name, value.data(), &size) != RD_KAFKA_CONF_OK) return {};
  value.resize(size - 1);  // without the terminating NUL that librdkafka counts
  return value;
}

}  // namespace walrelay
