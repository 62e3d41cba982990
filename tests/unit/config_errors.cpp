// Each wrong key, type, range and unit gives one line that names the key, the reason and the remedy.

#include "connector/config/options.h"
#include "tests/support/catch.h"
#include "tests/support/config_text.h"

namespace walrelay::test {
namespace {

struct Wrong {
  std::string_view toml;
  std::string_view key;     // named in the line
  std::string_view remedy;  // also in the line
};

void check_refusals(std::initializer_list<Wrong> all) {
  for (const auto& [toml, key, remedy] : all) {
    CAPTURE(toml);
    const std::string line = refusal_of(toml);
    CHECK_THAT(line, ContainsSubstring(std::string(key)));
    CHECK_THAT(line, ContainsSubstring(std::string(remedy)));
    CHECK_THAT(line, ContainsSubstring("relay.toml:"));
    CHECK(line.find('\n') == std::string::npos);
  }
}

}  // namespace

TEST_CASE("an unknown key is refused with the nearest known one") {
  check_refusals({
      {"[postgres]\nslto = 'x'", "postgres.slto", "did you mean postgres.slot?"},
      {"[delivery]\nmax_inflight = 1", "delivery.max_inflight", "did you mean delivery.max_in_flight?"},
      {"[delivry]\nmax_in_flight = 1", "delivry.max_in_flight", "did you mean delivery.max_in_flight?"},
      {"[[outbox]]\ntabel = 'a.b'", "outbox.0.tabel", "did you mean outbox.0.table?"},
      {"[[outbox]]\ntable='a.b'\npreset='debezium'\n[[outbox]]\nvaleu = 'a.b'", "outbox.1.valeu",
       "did you mean outbox.1.value?"},
      {"[sink.file]\npth = 'x'", "sink.file.pth", "did you mean sink.file.path?"},
      {"listen = 'x:1'", "listen", "did you mean http.listen?"},
      {"[postgres]\nmax_in_flight = 5", "postgres.max_in_flight", "did you mean delivery.max_in_flight?"},
      {"colour = 'red'", "colour", "walrelay config"},
      {"[postgres]\nslot = { name = 'x' }", "postgres.slot.name", "did you mean postgres.slot?"},
  });
}

TEST_CASE("a key of a later version is refused as such, not as unknown") {
  check_refusals({
      {"[delivery]\nguarantee = 'exactly-once'", "delivery.guarantee", "write \"at-least-once\""},
      {"[sink]\ntype = 'rabbitmq'", "sink.type", "use kafka, stdout or file"},
      {"[sink.rabbitmq]\nurl = 'x'", "sink.rabbitmq.url", "is not in this version; remove it"},
  });
}

TEST_CASE("write-back needs rows, and an id by which they are found") {
  const std::string table = "[[outbox]]\ntable='a.b'\ntopic='t'\nvalue='{v}'\n";
  check_refusals({
      {"[[outbox]]\nmessages='a'\nprocessed_at='p'", "[[outbox]] a", "messages have no row to write to"},
      {table + "processed_at='p'", "[[outbox]] a.b", "id has to be one plain column"},
      {table + "id='{a}-{b}'\nerror='e'", "[[outbox]] a.b", "not \"{a}-{b}\""},
      {table + "id='{a|lower}'\nattempts='n'", "[[outbox]] a.b", "not \"{a|lower}\""},
      {table + "id='{a}'\nid_header=''\nretention.after='ack'", "[[outbox]] a.b", "set id_header"},
      {table + "id='{a}'\nretention.after='age'", "outbox.0.retention.after", "there is only \"ack\""},
      {table + "id='{a}'\nprocessed_at='{p}'", "outbox.0.processed_at", "write \"p\""},
  });
}

TEST_CASE("an outbox table with one pair of brackets is answered with two") {
  check_refusals({{"[outbox]\ntable = 'a.b'", "outbox.table", "[[outbox]], with two brackets"}});
}

TEST_CASE("a value where a section is expected is refused") {
  check_refusals({
      {"postgres = 'host=db'", "postgres", "is a section"},
      {"sink = 'kafka'", "sink", "is a section"},
      {"[sink]\nkafka = 'broker:9092'", "sink.kafka", "write [sink.kafka]"},
      {"[[outbox]]\nheaders = 'x'", "outbox.0.headers", "write headers = {"},
      {"[[outbox]]\nheaders = []", "outbox.0.headers", "write headers = {"},
  });
}

TEST_CASE("a value of another type is refused") {
  check_refusals({
      {"[postgres]\nslot = 1", "postgres.slot: 1", "put it in quotes"},
      {"[postgres]\nslot = true", "postgres.slot: true", "put it in quotes"},
      {"[postgres]\nslot = ['a']", "postgres.slot: an array", "put it in quotes"},
      {"[postgres]\nslot = 2026-01-01", "postgres.slot: a date", "put it in quotes"},
      {"[postgres]\nslot = {}", "postgres.slot: a table", "put it in quotes"},
      {"[[outbox]]\ntopic = 1", "outbox.0.topic: 1", "put it in quotes"},
      {"[[outbox]]\nheaders = { a = 1 }", "outbox.0.headers.a: 1", "put it in quotes"},
      {"[delivery]\nmax_in_flight = 'ten'", "delivery.max_in_flight: \"ten\"", "a whole number"},
      {"[delivery]\nmax_in_flight = 1.5", "delivery.max_in_flight: 1.5", "a whole number"},
      {"[delivery]\nmax_in_flight = true", "delivery.max_in_flight: true", "a whole number"},
      {"[delivery]\nmax_in_flight = -1", "delivery.max_in_flight: -1", "a whole number"},
      {"[delivery]\non_error = 1", "delivery.on_error: 1", "put it in quotes"},
      {"[sink.kafka]\n'linger.ms' = [1]", "sink.kafka.linger.ms: an array", "put it in quotes"},
  });
}

TEST_CASE("a missing or unknown unit is refused with the units there are") {
  check_refusals({
      {"[delivery]\ndrain_timeout = 10", "delivery.drain_timeout: 10", "ms, s, m, h, d"},
      {"[delivery]\ndrain_timeout = '10'", "delivery.drain_timeout: \"10\"", "ms, s, m, h, d"},
      {"[delivery]\nstall_disconnect = '1 min'", "delivery.stall_disconnect: \"1 min\"", "ms, s, m, h, d"},
      {"[delivery]\nmax_in_flight_bytes = '64M'", "delivery.max_in_flight_bytes: \"64M\"", "\"64MiB\""},
      {"[delivery]\nmax_in_flight_bytes = 1.5", "delivery.max_in_flight_bytes: 1.5", "\"64MiB\""},
  });
}

TEST_CASE("a value out of range is refused with the range") {
  check_refusals({
      {"[delivery]\nmax_in_flight = 0", "delivery.max_in_flight: 0", "from 1 to 10000000"},
      {"[delivery]\nmax_in_flight = 10000001", "delivery.max_in_flight: 10000001", "from 1 to 10000000"},
      {"[delivery]\nmax_in_flight = '99999999999999999999'", "delivery.max_in_flight", "from 1 to 10000000"},
      {"[delivery]\nmax_in_flight_bytes = '1B'", "delivery.max_in_flight_bytes: \"1B\"", "from 1KiB to 64GiB"},
      {"[delivery]\nmax_in_flight_bytes = '65GiB'", "delivery.max_in_flight_bytes", "from 1KiB to 64GiB"},
      {"[delivery]\nstall_disconnect = '999ms'", "delivery.stall_disconnect: \"999ms\"", "from 1s to 24h"},
      {"[delivery]\nstall_disconnect = '2d'", "delivery.stall_disconnect: \"2d\"", "from 1s to 24h"},
      {"[delivery]\ndrain_timeout = '61m'", "delivery.drain_timeout: \"61m\"", "from 0s to 60m"},
  });
}

TEST_CASE("a word that is not a choice is refused with the choices and the nearest") {
  check_refusals({
      {"[sink]\ntype = 'kafak'", "sink.type: \"kafak\"", "kafka, stdout, file; did you mean kafka?"},
      {"[delivery]\non_error = 'dead_letter'", "delivery.on_error: \"dead_letter\"", "did you mean dead-letter?"},
      {"[delivery]\non_error = { defualt = 'halt' }", "delivery.on_error.defualt", "there are default, too-large"},
      {"[delivery]\non_error = { to-large = 'halt' }", "delivery.on_error.to-large", "did you mean too-large?"},
      {"[log]\nformat = 'xml'", "log.format: \"xml\"", "text, json"},
      {"[log]\nlevel = 'warn'", "log.level: \"warn\"", "debug, info, warning, error"},
  });
}

TEST_CASE("names and addresses are checked") {
  check_refusals({
      {"[postgres]\nslot = 'My-Slot'", "postgres.slot: \"My-Slot\"", "for example \"my_slot\""},
      {"[postgres]\nslot = ''", "postgres.slot: \"\"", "for example \"walrelay\""},
      {"[postgres]\npublication = ''", "postgres.publication", "1 to 63 bytes"},
      {"[postgres]\nslot = \"a\\u0000b\"", "postgres.slot", "zero byte"},
      {"[[outbox]]\ntable = 'outbox'", "outbox.0.table: \"outbox\"", "\"public.outbox\""},
      {"[http]\nlisten = '9464'", "http.listen: \"9464\"", "\"127.0.0.1:9464\""},
      {"[http]\nlisten = ':9464'", "http.listen: \":9464\"", "\"0.0.0.0:9464\" for all addresses"},
      {"[delivery]\ndead_letter_topic = 'a b'", "delivery.dead_letter_topic: \"a b\"", "1 to 249"},
  });
}

TEST_CASE("properties of librdkafka are checked where they stand") {
  check_refusals({
      {"[sink.kafka]\n'acks' = '1'", "relay.toml:2:10", "acks"},
      {"[sink.kafka]\n'linger.mss' = '1'", "relay.toml:2:16", "linger.ms"},
      {"[sink.kafka]\n'linger.ms' = 'soon'", "relay.toml:2:15", "linger.ms"},
  });
}

TEST_CASE("dead letters need a topic") {
  CHECK_THAT(refusal_of("[delivery]\non_error = 'dead-letter'\ndead_letter_topic = ''\n"),
             ContainsSubstring("delivery.dead_letter_topic: empty"));
  CHECK_THAT(refusal_of("[delivery]\non_error = { topic = 'dead-letter' }\ndead_letter_topic = ''\n"),
             ContainsSubstring("delivery.dead_letter_topic: empty"));
  CHECK(refusal_of("[delivery]\ndead_letter_topic = ''\n") == "accepted");
}

TEST_CASE("a flag is named like a line of the file") {
  CHECK_THAT(refusal_of("", {{"postgres.slot", "My-Slot", "--slot"}}),
             ContainsSubstring("--slot: postgres.slot: \"My-Slot\""));
  CHECK_THAT(refusal_of("", {{"outbox.topic", "x", "--set"}}), ContainsSubstring("outbox.0.topic for the first"));
  const std::string table = "[[outbox]]\ntable = \"a.b\"\npreset = ";
  const auto key = refusal_of(table + "'standard'", {{"outbox.0.key", "{payload/orderId", "--set"}});
  INFO(key);
  CHECK(key.starts_with("--set outbox.0.key: [[outbox]] a.b, key: template"));
  const auto keep = refusal_of(table + "'debezium'", {{"outbox.0.retention.keep", "7d", "--set"}});
  INFO(keep);
  CHECK(keep.starts_with("relay.toml:"));
  CHECK_THAT(keep, ContainsSubstring(" with --set outbox.0.retention.keep: outbox.0.retention: keep goes by the age"));
  const auto both =
      refusal_of(table + "'standard'", {{"outbox.0.topic", "t", "--set"}, {"outbox.0.messages", "m", "--set"}});
  CHECK_THAT(both, ContainsSubstring(" with --set outbox.0.topic, --set outbox.0.messages: outbox.0: both"));
  CHECK_THAT(refusal_of("", {{"outbox.1.topic", "x", "--set"}}), ContainsSubstring("only 0 outboxes, counted from 0"));
}

}  // namespace walrelay::test
