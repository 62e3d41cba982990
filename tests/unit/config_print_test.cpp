// `walrelay config`: what it prints is what is in effect, and reads back as the same.

#include "connector/config/config_print.h"

#include "decoder/presets.h"
#include "tests/support/catch.h"
#include "tests/support/config_text.h"

namespace walrelay::test {
namespace {

void check_round_trip(const Config& config) {
  const std::string printed = print_config(config);
  CAPTURE(printed);
  const Config again = config_of(printed, {}, Mapping::optional);
  CHECK(print_config(again) == printed);
  REQUIRE(again.outboxes.size() == config.outboxes.size());
  for (std::size_t i = 0; i < config.outboxes.size(); ++i) {
    const OutboxRules& one = config.outboxes[i];
    const OutboxRules& other = again.outboxes[i];
    CHECK(one.table == other.table);
    CHECK(one.messages == other.messages);
    CHECK(one.id == other.id);
    CHECK(one.topic == other.topic);
    CHECK(one.key == other.key);
    CHECK(one.value == other.value);
    CHECK(one.timestamp == other.timestamp);
    CHECK(one.headers == other.headers);
    CHECK(one.id_header == other.id_header);
    CHECK(one.optional_columns == other.optional_columns);
    CHECK(one.retention == other.retention);
  }
  CHECK(again.sink.kafka == config.sink.kafka);
  CHECK(again.delivery.on_error_by_class == config.delivery.on_error_by_class);
}

}  // namespace

TEST_CASE("the defaults read back as themselves") { check_round_trip(Config{}); }

TEST_CASE("every preset reads back as itself, and columns that a table may lack stay optional") {
  for (const Preset& preset : presets()) {
    CAPTURE(std::string(preset.name));
    const std::string toml = "[[outbox]]\ntable='public.outbox'\npreset='" + std::string(preset.name) + "'\n";
    check_round_trip(config_of(toml));
    check_round_trip(config_of(toml + "topic='orders'\nid_header=''\nheaders={ source='shop', type='x' }\n"));
  }
}

TEST_CASE("a column that the configuration asks for by name stays required") {
  check_round_trip(config_of("[[outbox]]\ntable='a.b'\npreset='standard'\nheaders={ traceparent='{trace_parent}' }\n"));
  check_round_trip(config_of("[[outbox]]\ntable='a.b'\npreset='standard'\nkey='{trace_parent}'\n"));
}

TEST_CASE("a CloudEvent reads back as itself") {
  const auto config = config_of(R"(
[[outbox]]
table = "a.b"
preset = "standard"
[outbox.cloudevents]
source = "/shop/{payload/shop}"
type = "com.example.{type|kebab}"
subject = "{payload/orderId}"
dataschema = "https://example.com/{type}.json"
datacontenttype = ""
extensions = { tenant = "{payload/tenant}", traceparent = "" }
[[outbox]]
table = "a.c"
preset = "standard"
)");
  check_round_trip(config);
  const auto again = config_of(print_config(config)).outboxes;
  REQUIRE(again[0].cloudevents);
  CHECK(again[0].cloudevents->source == "/shop/{payload/shop}");
  CHECK(again[0].cloudevents->datacontenttype == "");
  CHECK(again[0].cloudevents->extensions.size() == 2);
  CHECK_FALSE(again[1].cloudevents);
}

TEST_CASE("everything that can be configured reads back as itself") {
  check_round_trip(config_of(R"(
[postgres]
dsn = "host=db dbname='my shop' options='-c statement_timeout=5s'"
slot = "shop_1"
publication = 'Пуб "x" \ y'
[[outbox]]
table = 'public.Outbox "x"'
id = "{Id}"
topic = "orders.{type|kebab}"
value = "{payload}"
headers = { "a b" = "tab\there", "x-ü" = "{type}" }
timestamp = "{at}"
[outbox.retention]
keep = "36h"
max_rows = 1000000
interval = "90s"
batch = 250
[[outbox]]
messages = "outbox"
[sink]
type = "file"
[sink.kafka]
"bootstrap.servers" = "a:9092"
"linger.ms" = 2
[sink.file]
path = "/tmp/x"
[delivery]
on_error = { default = "skip", too-large = "dead-letter" }
max_in_flight = 7
max_in_flight_bytes = "1000kB"
drain_timeout = "1500ms"
[http]
listen = ""
[log]
format = "json"
level = "debug"
)"));
}

TEST_CASE("an outbox that says only its table reads back as itself") {
  check_round_trip(config_of("[[outbox]]\ntable='a.b'\n", {}, Mapping::optional));
}

TEST_CASE("strings are quoted as TOML wants them") {
  CHECK(toml_string("plain ü") == "\"plain ü\"");
  CHECK(toml_string("a\"b\\c\n") == "\"a\\\"b\\\\c\\u000A\"");
  CHECK(toml_string("${HOME} $x $") == "\"$${HOME} $x $\"");
}

TEST_CASE("a literal reference survives printing and reading") {
  const Config config = config_of("[sink.file]\npath = '/tmp/$${x}/$$${y}'\n");
  CHECK(config.sink.file_path == "/tmp/${x}/$${y}");
  CHECK(config_of(print_config(config)).sink.file_path == config.sink.file_path);
}

}  // namespace walrelay::test
