#pragma once
// [sink.kafka]: librdkafka's properties, passed through with defaults that carry the guarantee of delivery.
// Property names: librdkafka, CONFIGURATION.md. Everything here is a pure function of its arguments.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinks/kafka_handles.h"

namespace walrelay {

using KafkaProperties =
    std::vector<std::pair<std::string, std::string>>;  // in the order given; the last of a name counts

// What a property is set to unless it is given, where that differs from librdkafka's own default.
struct KafkaDefault {
  const char* name;
  const char* value;
};
[[nodiscard]] std::span<const KafkaDefault> kafka_defaults();

// A property that cannot be given, and why; callbacks ("..._cb") cannot either.
struct KafkaRefusal {
  std::string_view name;
  std::string_view reason;
};
[[nodiscard]] std::span<const KafkaRefusal> kafka_refusals();

// A producer's configuration: the defaults of the guarantee, then `properties`; reports, errors, statistics and logs as
// events. Throws SinkConfigError for a property that is unknown (with the nearest known one), has a bad value, or
// carries the guarantee (with the reason), and if bootstrap.servers is missing. The value of a secret is in no message.
[[nodiscard]] KafkaConfHandle make_kafka_conf(const KafkaProperties& properties);

// Starts a client's threads; does not wait for a connection. Throws SinkConfigError for properties that contradict
// each other or name files that cannot be read.
[[nodiscard]] KafkaClientHandle make_kafka_client(KafkaConfHandle conf, rd_kafka_type_t type = RD_KAFKA_PRODUCER);

// The checks of make_kafka_conf() without its result.
void validate_kafka_properties(const KafkaProperties& properties);

// What works but will bite, one line each.
[[nodiscard]] std::vector<std::string> kafka_warnings(const KafkaProperties& properties);

// Why a login by SASL/SCRAM fails with the librdkafka that is linked, "" if it does not.
[[nodiscard]] std::string scram_remark(const KafkaProperties& properties);

// What to add to the text of a refused login, which may not say it: mechanism and user, and the remark on SCRAM.
[[nodiscard]] std::string login_remark(const KafkaProperties& properties);

// Whether a property's value must never be shown.
[[nodiscard]] bool is_secret_kafka_property(std::string_view name);

// The value as `walrelay config` shows it.
[[nodiscard]] std::string shown_kafka_value(std::string_view name, std::string_view value);

// The last value given for `name`, "" if none is.
[[nodiscard]] std::string_view kafka_property(const KafkaProperties& properties, std::string_view name);

// The brokers to start from, for messages.
[[nodiscard]] std::string_view kafka_bootstrap_servers(const KafkaProperties& properties);

// What `conf` holds, "" if nothing.
[[nodiscard]] std::string kafka_conf_value(const rd_kafka_conf_t* conf, const char* name);

}  // namespace walrelay
