// [sink.kafka]: what is passed through, what is refused, and what is said about it.

#include "sinks/kafka_options.h"

#include "decoder/topic_name.h"
#include "sinks/kafka_errors.h"
#include "sinks/kafka_record_size.h"
#include "sinks/kafka_statistics.h"
#include "sinks/sink_error.h"
#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

KafkaProperties with(std::string name, std::string value) {
  return {{"bootstrap.servers", "broker:9092"}, {std::move(name), std::move(value)}};
}

std::string error_of(const KafkaProperties& properties) {
  try {
    validate_kafka_properties(properties);
  } catch (const SinkConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the defaults carry the guarantee of delivery") {
  const auto conf = make_kafka_conf({{"bootstrap.servers", "broker:9092"}});
  CHECK(kafka_conf_value(conf.get(), "enable.idempotence") == "true");
  CHECK(kafka_conf_value(conf.get(), "acks") == "-1");  // all
  CHECK(kafka_conf_value(conf.get(), "message.timeout.ms") == "0");
  CHECK(kafka_conf_value(conf.get(), "reconnect.backoff.max.ms") == "1000");
  CHECK(kafka_conf_value(conf.get(), "message.max.bytes") == "1000000000");
  CHECK(kafka_conf_value(conf.get(), "partitioner") == "murmur2_random");
  CHECK(kafka_conf_value(conf.get(), "client.id") == "walrelay");
}

TEST_CASE("a property that is given replaces the default, the last of a name counts") {
  auto properties = with("linger.ms", "20");
  properties.emplace_back("client.id", "first");
  properties.emplace_back("client.id", "orders");
  properties.emplace_back("compression.type", "lz4");
  properties.emplace_back("partitioner", "consistent_random");
  const auto conf = make_kafka_conf(properties);
  CHECK(kafka_conf_value(conf.get(), "linger.ms") == "20");
  CHECK(kafka_conf_value(conf.get(), "client.id") == "orders");
  CHECK(kafka_conf_value(conf.get(), "compression.codec") == "lz4");
  CHECK(kafka_conf_value(conf.get(), "partitioner") == "consistent_random");
}

TEST_CASE("a partitioner that takes no notice of the key is refused") {
  CHECK_THAT(error_of(with("partitioner", "random")), ContainsSubstring("partitioner") && ContainsSubstring("order"));
  for (const auto* name : {"consistent", "consistent_random", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random"}) {
    CHECK(error_of(with("partitioner", name)).empty());
  }
}

TEST_CASE("a property that carries the guarantee is refused with the reason") {
  const std::string name =
      GENERATE("acks", "request.required.acks", "enable.idempotence", "message.timeout.ms", "delivery.timeout.ms",
               "retries", "message.send.max.retries", "transactional.id", "queuing.strategy",
               "enable.gapless.guarantee", "delivery.report.only.error", "statistics.interval.ms", "enabled_events",
               "log.queue", "opaque", "dr_msg_cb", "error_cb", "log_cb", "default_topic_conf", "interceptors");
  CAPTURE(name);
  const auto error = error_of(with(name, "1"));
  CHECK_THAT(error, ContainsSubstring("\"" + name + "\" cannot be set: "));
  CHECK_THAT(error, ContainsSubstring("; remove it"));
}

TEST_CASE("an unknown property is named with the nearest known one") {
  CHECK_THAT(error_of(with("linger.mss", "5")),
             ContainsSubstring("has no property \"linger.mss\": did you mean \"linger.ms\"?"));
  // Known though it has no default value.
  CHECK_THAT(error_of(with("sasl.usrname", "x")), ContainsSubstring("did you mean \"sasl.username\"?"));
  CHECK_THAT(error_of(with("compresion.type", "zstd")), ContainsSubstring("did you mean \"compression.type\"?"));
  CHECK_THAT(error_of(with("xyzzy", "5")), ContainsSubstring("CONFIGURATION.md"));
}

TEST_CASE("a bad value is named, unless it is a secret") {
  CHECK_THAT(error_of(with("linger.ms", "soon")),
             ContainsSubstring("\"linger.ms\"") && ContainsSubstring("Invalid value"));
  CHECK_THAT(error_of(with("security.protocol", "TLS")), ContainsSubstring("TLS"));
}

TEST_CASE("bootstrap.servers is asked for, also by its old name") {
  CHECK_THAT(error_of({}), ContainsSubstring("\"bootstrap.servers\" is missing"));
  CHECK_THAT(error_of({{"bootstrap.servers", ""}}), ContainsSubstring("\"bootstrap.servers\""));
  CHECK(error_of({{"metadata.broker.list", "a:9092"}}).empty());
  CHECK(kafka_bootstrap_servers({{"metadata.broker.list", "a:9092"}}) == "a:9092");
}

TEST_CASE("properties that contradict each other are an error when the producer is made") {
  CHECK_THROWS_WITH(make_kafka_client(make_kafka_conf(with("max.in.flight", "100"))),
                    ContainsSubstring("max.in.flight"));
}

TEST_CASE("secrets are masked, other values are shown") {
  for (const auto* secret : {"sasl.password", "ssl.key.password", "ssl.keystore.password", "ssl.key.pem",
                             "sasl.oauthbearer.client.secret", "sasl.oauthbearer.config", "sasl.kerberos.kinit.cmd"}) {
    CAPTURE(secret);
    CHECK(shown_kafka_value(secret, "hunter2") == "********");
  }
  for (const auto* open : {"bootstrap.servers", "sasl.username", "ssl.ca.location", "ssl.key.location", "linger.ms"}) {
    CAPTURE(open);
    CHECK(shown_kafka_value(open, "value") == "value");
  }
}

TEST_CASE("SCRAM with a librdkafka that Kafka 4 refuses gives a warning") {
  const bool is_old = rd_kafka_version() < 0x020601ff;
  for (const auto* name : {"sasl.mechanism", "sasl.mechanisms"}) {
    const auto warnings = kafka_warnings(with(name, "SCRAM-SHA-512"));
    REQUIRE(warnings.size() == (is_old ? 1U : 0U));
    if (is_old) CHECK_THAT(warnings[0], ContainsSubstring("SCRAM") && ContainsSubstring("2.6.1"));
  }
  CHECK(kafka_warnings(with("sasl.mechanism", "PLAIN")).empty());
}

TEST_CASE("delivered is: no error and persisted") {
  CHECK(kafka_delivery_status(RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_MSG_STATUS_PERSISTED) == DeliveryStatus::persisted);
  CHECK(kafka_delivery_status(RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_MSG_STATUS_NOT_PERSISTED) ==
        DeliveryStatus::in_doubt);
  CHECK(kafka_delivery_status(RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_MSG_STATUS_NOT_PERSISTED) ==
        DeliveryStatus::failed);
  CHECK(kafka_delivery_status(RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED) ==
        DeliveryStatus::in_doubt);
  for (const auto error :
       {RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, RD_KAFKA_RESP_ERR__MSG_TIMED_OUT,
        RD_KAFKA_RESP_ERR__DESTROY, RD_KAFKA_RESP_ERR__FATAL, RD_KAFKA_RESP_ERR__TRANSPORT}) {
    CHECK(kafka_delivery_status(error, RD_KAFKA_MSG_STATUS_NOT_PERSISTED) == DeliveryStatus::in_doubt);
  }
}

TEST_CASE("a refusal has the class that the policy is configured by") {
  CHECK(kafka_failure_class(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) == FailureClass::too_large);
  CHECK(kafka_failure_class(RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE) == FailureClass::too_large);
  CHECK(kafka_failure_class(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC) == FailureClass::topic);
  CHECK(kafka_failure_class(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) == FailureClass::topic);
  CHECK(kafka_failure_class(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) == FailureClass::authorization);
  CHECK(kafka_failure_class(RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP) == FailureClass::timestamp);
  CHECK(kafka_failure_class(RD_KAFKA_RESP_ERR_INVALID_RECORD) == FailureClass::rejected);
}

TEST_CASE("topic names are held to Kafka's rule") {
  CHECK(is_topic_name("outbox.Order-Placed_1"));
  CHECK(is_topic_name(std::string(249, 'a')));
  for (const std::string bad : {"", ".", "..", "a b", "a/b", "ü", "a\n"}) CHECK_FALSE(is_topic_name(bad));
  CHECK_FALSE(is_topic_name(std::string(250, 'a')));
}

TEST_CASE("an error's text ends before librdkafka's remarks on its own state") {
  CHECK(without_broker_state(
            "a:1/bootstrap: Connect failed: refused (after 0ms in state CONNECT, 2 identical error(s) suppressed)") ==
        "a:1/bootstrap: Connect failed: refused");
  CHECK(without_broker_state("1 request(s) timed out: disconnect (average rtt 3ms)") ==
        "1 request(s) timed out: disconnect (average rtt 3ms)");
}

TEST_CASE("a record's size is the one that the broker compares with the limit") {
  OutboxEvent event;
  CHECK(kafka_batch_size(event) == 61 + 1 + 6);  // null key, null value, no headers
  event.key = "k";
  event.value = std::string_view("0123456789");
  const EventHeader headers[] = {{"id", "42"}, {"none", std::nullopt}};
  event.headers = headers;
  // attributes, two deltas, key, value, header count, "id" and "42", "none" and null
  CHECK(kafka_batch_size(event) == 61 + 1 + 3 + 2 + 11 + 1 + (3 + 3) + (5 + 1));
  CHECK(kafka_varint_size(63) == 1);
  CHECK(kafka_varint_size(64) == 2);
  CHECK(kafka_varint_size(8191) == 2);
  CHECK(kafka_varint_size(8192) == 3);
}

TEST_CASE("statistics give the mean round trip and whether a broker is connected") {
  const auto* const json =
      R"({"brokers":{"a":{"state":"UP","rtt": {"min":1,"avg":300,"cnt":3,"p99":1}},)"
      R"("b":{"state":"INIT","rtt": {"min":1,"avg":700,"cnt":1}}},"topics":{},"eos":{"idemp_state":"Assigned"}})";
  CHECK(mean_round_trip(json) == std::chrono::microseconds(400));
  CHECK(any_broker_is_up(json));
  const auto* const idle = R"({"brokers":{"a":{"state":"DOWN","rtt": {"min":0,"avg":0,"cnt":0}}}})";
  CHECK_FALSE(mean_round_trip(idle).has_value());
  CHECK_FALSE(any_broker_is_up(idle));
  CHECK_FALSE(mean_round_trip("\"rtt\":").has_value());
}

}  // namespace walrelay::test
