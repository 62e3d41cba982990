// Each key's happy path, in a file and by --set.

#include <map>
#include <set>

#include "connector/config/options.h"
#include "tests/support/catch.h"
#include "tests/support/config_text.h"

namespace walrelay::test {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kEverything = R"(
[postgres]
dsn = "host=db dbname=shop"
query_dsn = "postgresql://walrelay@db:5433/shop"
slot = "shop_1"
publication = "Outbox_Pub"

[[outbox]]
table = "public.outbox"
preset = "debezium"
id = "{id}"
topic = "orders.{type|kebab}"
key = "{payload/orderId}"
value = "{payload}"
timestamp = "{created_at}"
headers = { source = "shop", type = "{type}" }
id_header = "event-id"
processed_at = "sent_at"
attempts = "tries"
error = "why"
[outbox.retention]
keep = "7d"
max_rows = 1000000
interval = "5m"
batch = 500
after = "ack"
[outbox.cloudevents]
source = "/shop/orders"
type = "com.example.{type}"
subject = "{payload/orderId}"
dataschema = "https://example.com/{type}.json"
datacontenttype = "application/json"
extensions = { tenant = "{tenant}" }

[[outbox]]
messages = "outbox"

[sink]
type = "file"
[sink.kafka]
"bootstrap.servers" = "a:9092,b:9092"
"linger.ms" = 2
"socket.keepalive.enable" = true
[sink.file]
path = "/tmp/events.jsonl"

[delivery]
guarantee = "at-least-once"
on_error = { default = "skip", too-large = "dead-letter" }
dead_letter_topic = "dead"
max_in_flight = 10
max_in_flight_bytes = "1MiB"
progress_topic = "walrelay.progress.shop"
stall_disconnect = "5s"
drain_timeout = "0s"

[http]
listen = "[::1]:0"

[log]
format = "json"
level = "warning"
)";

Config set(const std::string& key, const std::string& value) {
  return config_of("", {Setting{key, value, "--set"}}, Mapping::optional);
}

}  // namespace

TEST_CASE("every key of the file arrives where it belongs") {
  const Config config = config_of(kEverything);
  CHECK(config.postgres.dsn == "host=db dbname=shop");
  CHECK(config.postgres.query_dsn == "postgresql://walrelay@db:5433/shop");
  CHECK(config.postgres.slot == "shop_1");
  CHECK(config.postgres.publication == "Outbox_Pub");

  REQUIRE(config.outboxes.size() == 2);
  const OutboxRules& rules = config.outboxes[0];
  CHECK(rules.table == "public.outbox");
  CHECK(rules.preset == "debezium");
  CHECK(rules.id == "{id}");
  CHECK(rules.topic == "orders.{type|kebab}");
  CHECK(rules.key == "{payload/orderId}");
  CHECK(rules.value == "{payload}");
  CHECK(rules.timestamp == "{created_at}");
  CHECK(rules.headers == std::vector<std::pair<std::string, std::string>>{{"source", "shop"}, {"type", "{type}"}});
  CHECK(rules.id_header == "event-id");
  CHECK(rules.processed_at == "sent_at");
  CHECK(rules.retention == RetentionRules{milliseconds(604'800'000), 1'000'000, milliseconds(300'000), 500, "ack"});
  CHECK(rules.attempts == "tries");
  CHECK(rules.error == "why");
  REQUIRE(config.outboxes[0].cloudevents);
  CHECK(config.outboxes[0].cloudevents->source == "/shop/orders");
  CHECK(config.outboxes[0].cloudevents->type == "com.example.{type}");
  CHECK(config.outboxes[0].cloudevents->subject == "{payload/orderId}");
  CHECK(config.outboxes[0].cloudevents->dataschema == "https://example.com/{type}.json");
  CHECK(config.outboxes[0].cloudevents->datacontenttype == "application/json");
  CHECK(config.outboxes[0].cloudevents->extensions ==
        std::vector<std::pair<std::string, std::string>>{{"tenant", "{tenant}"}});
  CHECK(config.outboxes[1].messages == "outbox");

  CHECK(config.sink.type == SinkType::file);
  CHECK(config.sink.kafka == std::vector<std::pair<std::string, std::string>>{{"bootstrap.servers", "a:9092,b:9092"},
                                                                              {"linger.ms", "2"},
                                                                              {"socket.keepalive.enable", "true"}});
  CHECK(config.sink.file_path == "/tmp/events.jsonl");

  CHECK(config.delivery.on_error == OnError::skip);
  CHECK(config.delivery.policy(FailureClass::too_large) == OnError::dead_letter);
  CHECK(config.delivery.policy(FailureClass::topic) == OnError::skip);
  CHECK(config.delivery.dead_letter_topic == "dead");
  CHECK(config.delivery.progress_topic == "walrelay.progress.shop");
  CHECK(config.delivery.max_in_flight == 10);
  CHECK(config.delivery.max_in_flight_bytes == 1'048'576);
  CHECK(config.delivery.stall_disconnect == milliseconds(5'000));
  CHECK(config.delivery.drain_timeout == milliseconds(0));
  CHECK(config.http.listen == "[::1]:0");
  CHECK(config.log.format == LogFormat::json);
  CHECK(config.log.level == LogLevel::warning);
}

TEST_CASE("the file of this test names every key there is") {
  std::set<const Option*> seen;
  for (const Setting& setting : parse_config_text(kEverything, "relay.toml"))
    seen.insert(find_option(setting.key).option);
  for (const Option& option : options()) {
    CAPTURE(std::string(option.key));
    CHECK(seen.count(&option) == 1);
  }
}

TEST_CASE("an empty configuration is the documented defaults") {
  const Config config = config_of("");
  CHECK(config.postgres.dsn.empty());
  CHECK(config.postgres.slot == "walrelay");
  CHECK(config.postgres.publication == "walrelay");
  CHECK(config.outboxes.empty());
  CHECK(config.sink.type == SinkType::kafka);
  CHECK(config.delivery.on_error == OnError::halt);
  CHECK(config.delivery.max_in_flight == 100'000);
  CHECK(config.delivery.max_in_flight_bytes == 67'108'864);
  CHECK(config.delivery.stall_disconnect == milliseconds(60'000));
  CHECK(config.delivery.drain_timeout == milliseconds(10'000));
  CHECK(config.http.listen == "127.0.0.1:9464");
  CHECK(config.log.level == LogLevel::info);
}

TEST_CASE("the flag --set gives any key as text") {
  CHECK(set("postgres.slot", "x").postgres.slot == "x");
  CHECK(set("delivery.max_in_flight", "10").delivery.max_in_flight == 10);
  CHECK(set("delivery.max_in_flight_bytes", "2MiB").delivery.max_in_flight_bytes == 2'097'152);
  CHECK(set("delivery.drain_timeout", "3s").delivery.drain_timeout == milliseconds(3'000));
  CHECK(set("delivery.on_error", "skip").delivery.on_error == OnError::skip);
  CHECK(set("delivery.on_error.too-large", "skip").delivery.policy(FailureClass::too_large) == OnError::skip);
  CHECK(set("sink.type", "stdout").sink.type == SinkType::stdout_lines);
  CHECK(set("sink.kafka.linger.ms", "5").sink.kafka.front().first == "linger.ms");
  CHECK(set("http.listen", "").http.listen.empty());
  CHECK(set("outbox.0.table", "public.outbox").outboxes.front().table == "public.outbox");
}

TEST_CASE("an outbox is addressed by its number, and the next number adds one") {
  const std::string toml = "[[outbox]]\ntable='a.b'\npreset='debezium'\n";
  const Config config = config_of(toml, {{"outbox.0.topic", "orders", "--set"},
                                         {"outbox.0.headers.x.y", "{id}", "--set"},
                                         {"outbox.1.table", "c.d", "--set"},
                                         {"outbox.1.preset", "debezium", "--set"}});
  REQUIRE(config.outboxes.size() == 2);
  CHECK(config.outboxes[0].topic == "orders");
  CHECK(config.outboxes[0].headers.front() == std::pair<std::string, std::string>{"x.y", "{id}"});
  CHECK(config.outboxes[1].table == "c.d");
}

TEST_CASE("one word for on_error is meant for every class") {
  const Config config = config_of("[delivery]\non_error = { default = 'halt', too-large = 'skip' }\n",
                                  {{"delivery.on_error", "dead-letter", "--set"}});
  CHECK(config.delivery.policy(FailureClass::too_large) == OnError::dead_letter);
}

TEST_CASE("each class of failure can have its own policy") {
  for (const auto name : kFailureClassNames) {
    const Config config = set("delivery.on_error." + std::string(name), "skip");
    CHECK(config.delivery.on_error == OnError::halt);
    CHECK(config.delivery.policy(*parse_failure_class(name)) == OnError::skip);
  }
}

TEST_CASE("a property given twice counts once, the later one") {
  const Config config =
      config_of("[sink.kafka]\n'linger.ms' = 1\n'client.id' = 'x'\n", {{"sink.kafka.linger.ms", "9", "-X"}});
  CHECK(config.sink.kafka == std::vector<std::pair<std::string, std::string>>{{"linger.ms", "9"}, {"client.id", "x"}});
}

TEST_CASE("empty sections are allowed") {
  CHECK(refusal_of("[postgres]\n[sink]\n[sink.kafka]\n[sink.file]\n[delivery]\n[http]\n[log]\n") == "accepted");
  CHECK(refusal_of("[[outbox]]\ntable='a.b'\npreset='debezium'\nheaders={}\n") == "accepted");
}

}  // namespace walrelay::test
