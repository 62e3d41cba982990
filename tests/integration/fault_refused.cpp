// Events that Kafka refuses for good.

#include <fmt/format.h>

#include <algorithm>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

// The small rows go to a topic of the outbox's, those of type 'Big' to one that takes 2000 bytes.
class RefusedEvent {
 public:
  // `compressing`: the producer cannot know the size that the broker will see, so the broker has to refuse.
  explicit RefusedEvent(bool compressing) : compressing_(compressing) {
    create_topic(shared_kafka(), small_topic(), 1, {{"max.message.bytes", "2000"}});
  }

  [[nodiscard]] std::string small_topic() const { return outbox_.name() + ".big"; }
  [[nodiscard]] Outbox& outbox() { return outbox_; }

  [[nodiscard]] std::string configuration(const std::string& delivery, const std::string& topic = "") const {
    auto text = outbox_.configuration(delivery);
    const std::string plain = "topic = \"" + outbox_.name() + "\"";
    const std::string wanted = topic.empty() ? outbox_.name() + "{payload/suffix}" : topic;
    text.replace(text.find(plain), plain.size(), "topic = \"" + wanted + "\"");
    const std::string sink = "[sink.kafka]\n";
    return text.insert(text.find(sink) + sink.size(),
                       compressing_ ? "\"compression.codec\" = \"zstd\"\n" : "\"allow.auto.create.topics\" = false\n");
  }

  // Three small rows, a big one (its id is returned), three small ones. The big one's commit begins after `before`.
  std::string insert() {
    outbox_.insert(3);
    before_ = outbox_.end_of_wal();
    const auto id = database_.value(
        "INSERT INTO outbox (type, payload) SELECT 'Big', jsonb_build_object('k', 'big', 'n', 1, 'suffix', '.big', "
        "'x', string_agg(gen_random_uuid()::text, '')) FROM generate_series(1, 500) RETURNING id");
    after_ = outbox_.end_of_wal();
    outbox_.insert(3);
    return id;
  }
  [[nodiscard]] Lsn before() const { return before_; }
  [[nodiscard]] Lsn after() const { return after_; }
  [[nodiscard]] TestDatabase& database() { return database_; }

 private:
  bool compressing_;
  TestDatabase database_;
  Outbox outbox_{database_.dsn(), database_.dsn(), database_.name(), shared_kafka()};
  Lsn before_;
  Lsn after_;
};

bool six_small_rows(Outbox& outbox) {
  const auto records = TopicReader(shared_kafka(), outbox.topic()).read(6, seconds(15));
  return records.size() == 6;
}

TEST_CASE("an event that Kafka refuses halts the relay, which says which one, why, and confirms nothing from it on") {
  RefusedEvent setting(GENERATE(false, true));
  RelayProcess relay(setting.configuration(""));
  REQUIRE(relay.wait_ready());
  const auto id = setting.insert();
  const auto ended = relay.process().wait(seconds(20));
  const auto log = relay.log();
  INFO(log);
  CHECK(ended == ExitStatus{4, 0});
  CHECK_THAT(log, ContainsSubstring("halted"));
  CHECK_THAT(log, ContainsSubstring("public.outbox"));
  CHECK_THAT(log, ContainsSubstring(id));
  CHECK_THAT(log, ContainsSubstring(setting.small_topic()));
  CHECK_THAT(log, ContainsSubstring("18"));  // of its 18,000 bytes
  CHECK_THAT(log, ContainsSubstring("too-large"));
  CHECK(setting.outbox().confirmed() < setting.after());
  CHECK(setting.outbox().confirmed() >= setting.before());
}

TEST_CASE("with on_error = skip a refused event is counted and logged, and the others arrive") {
  RefusedEvent setting(GENERATE(false, true));
  RelayProcess relay(setting.configuration("on_error = \"skip\""));
  REQUIRE(relay.wait_ready());
  const auto id = setting.insert();
  CHECK(six_small_rows(setting.outbox()));
  CHECK(setting.outbox().wait_confirmed());
  INFO(relay.log());
  CHECK(relay.metric("walrelay_events_total", {{"result", "skipped"}}) == 1.0);
  CHECK(relay.metric("walrelay_events_total", {{"result", "delivered"}}) == 6.0);
  CHECK(count_of(relay.log(), "event_skipped") == 1);
  CHECK_THAT(relay.log(), ContainsSubstring(id));
  CHECK(relay.stop() == ExitStatus{143, 0});
}

TEST_CASE("with on_error = dead-letter a refused event goes whole to the dead letter topic, with the reason") {
  RefusedEvent setting(GENERATE(false, true));
  const auto letters = setting.outbox().name() + ".letters";
  create_topic(shared_kafka(), letters, 1);
  RelayProcess relay(
      setting.configuration(fmt::format("on_error = \"dead-letter\"\ndead_letter_topic = \"{}\"", letters)));
  REQUIRE(relay.wait_ready());
  const auto id = setting.insert();
  CHECK(six_small_rows(setting.outbox()));
  const auto records = TopicReader(shared_kafka(), letters).read(1);
  INFO(relay.log());
  REQUIRE(records.size() == 1);
  const auto& letter = records.front();
  CHECK(letter.key == "big");
  CHECK(letter.value == setting.database().value("SELECT payload FROM outbox WHERE id = '" + id + "'"));
  CHECK(letter.header("id") == id);
  CHECK(letter.header("type") == "Big");
  CHECK(letter.header("walrelay-error-class") == "too-large");
  CHECK(letter.header("walrelay-error-message").value_or("").find(setting.small_topic()) != std::string::npos);
  CHECK(letter.header("walrelay-topic") == setting.small_topic());
  CHECK(setting.outbox().wait_confirmed());
  CHECK(relay.metric("walrelay_dead_letters_total") == 1.0);
  CHECK(relay.stop() == ExitStatus{143, 0});
}

TEST_CASE("a dead letter that cannot be delivered halts the relay") {
  RefusedEvent setting(GENERATE(false, true));
  const auto letters = setting.outbox().name() + ".letters";
  create_topic(shared_kafka(), letters, 1, {{"max.message.bytes", "1000"}});
  RelayProcess relay(
      setting.configuration(fmt::format("on_error = \"dead-letter\"\ndead_letter_topic = \"{}\"", letters)));
  REQUIRE(relay.wait_ready());
  static_cast<void>(setting.insert());
  const auto ended = relay.process().wait(seconds(20));
  INFO(relay.log());
  CHECK(ended == ExitStatus{4, 0});
  CHECK_THAT(relay.log(), ContainsSubstring("the dead letter of an event"));
  CHECK(setting.outbox().confirmed() < setting.after());
}

TEST_CASE("a topic that is not there, and that the broker is not to make, halts the relay") {
  RefusedEvent setting(false);
  RelayProcess relay(setting.configuration("", setting.outbox().name() + "{payload/suffix}x"));
  REQUIRE(relay.wait_ready());
  static_cast<void>(setting.insert());
  const auto ended = relay.process().wait(seconds(20));
  INFO(relay.log());
  CHECK(ended == ExitStatus{4, 0});
  CHECK_THAT(relay.log(), ContainsSubstring("does not exist"));
  CHECK_THAT(relay.log(), ContainsSubstring("(topic)"));
}

}  // namespace
}  // namespace walrelay::test
