// Events that Kafka refuses for good.

#include <fmt/format.h>

#include <algorithm>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/json_value.h"
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

  // Three small rows, a big one (its id is returned), three small ones. The commit of the last row in front of the big
  // one ends after `before`.
  std::string insert() {
    outbox_.insert(2);
    before_ = outbox_.end_of_wal();
    outbox_.insert(1);
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

// Ten rows, one without a key, ten rows, in one transaction, for a topic that takes no record without a key.
class RefusedInBatch {
 public:
  RefusedInBatch() {
    create_topic(shared_kafka(), topic(), 1, {{"cleanup.policy", "compact"}});
    create_topic(shared_kafka(), topic() + ".letters", 1);
  }

  [[nodiscard]] std::string topic() const { return outbox_.name() + ".keyed"; }
  [[nodiscard]] std::string configuration(const std::string& delivery) const {
    auto text = outbox_.configuration(fmt::format("dead_letter_topic = \"{}.letters\"\n{}", topic(), delivery));
    const std::string plain = "topic = \"" + outbox_.name() + "\"";
    text.replace(text.find(plain), plain.size(), "topic = \"" + topic() + "\"");
    const std::string sink = "[sink.kafka]\n";
    return text.insert(text.find(sink) + sink.size(), "\"linger.ms\" = \"50\"\n");
  }

  // The id of the row without a key.
  std::string insert() {
    database_.exec(
        "INSERT INTO outbox (type, payload) SELECT 'T', CASE WHEN g = 11 THEN '{}' ELSE jsonb_build_object('k', 'k', "
        "'n', "
        "g) END FROM generate_series(1, 21) g");
    after_ = outbox_.end_of_wal();
    return database_.value("SELECT id FROM outbox WHERE payload = '{}'");
  }
  [[nodiscard]] Lsn after() const { return after_; }
  [[nodiscard]] Outbox& outbox() { return outbox_; }

  // The rows' numbers in the topic, in order.
  [[nodiscard]] std::vector<std::string> stored() const {
    std::vector<std::string> numbers;
    for (const auto& record : TopicReader(shared_kafka(), topic()).read_to_end()) {
      numbers.push_back(json_value(record.value.value_or("{}"), "/n"));
    }
    return numbers;
  }
  [[nodiscard]] static std::vector<std::string> from_to(int first, int last) {
    std::vector<std::string> numbers;
    for (int n = first; n <= last; ++n) {
      if (n != 11) numbers.push_back(std::to_string(n));
    }
    return numbers;
  }

 private:
  TestDatabase database_;
  Outbox outbox_{database_.dsn(), database_.dsn(), database_.name(), shared_kafka()};
  Lsn after_;
};

TEST_CASE("of a refused batch only the row that is meant goes to the dead letters, and the others arrive in order") {
  RefusedInBatch setting;
  RelayProcess relay(setting.configuration("on_error = { rejected = \"dead-letter\" }"));
  REQUIRE(relay.wait_ready());
  const auto id = setting.insert();
  CHECK(setting.outbox().wait_confirmed());
  INFO(relay.log());
  CHECK(setting.stored() == RefusedInBatch::from_to(1, 21));
  const auto letters = TopicReader(shared_kafka(), setting.topic() + ".letters").read_to_end();
  REQUIRE(letters.size() == 1);
  CHECK(letters[0].header("id") == id);
  CHECK(letters[0].header("walrelay-error-class") == "rejected");
  CHECK(relay.stop() == ExitStatus{143, 0});
}

TEST_CASE("a halt in a batch sends nothing behind the row, and its message's command goes past that row alone") {
  RefusedInBatch setting;
  std::string id;
  {
    RelayProcess relay(setting.configuration(""));
    REQUIRE(relay.wait_ready());
    id = setting.insert();
    const auto ended = relay.process().wait(seconds(30));
    INFO(relay.log());
    CHECK(ended == ExitStatus{4, 0});
    CHECK_THAT(relay.log(), ContainsSubstring("walrelay run --skip " + id + " "));
  }
  const auto stored = setting.stored();
  CHECK(stored == RefusedInBatch::from_to(1, 10));
  CHECK(setting.outbox().confirmed() < setting.after());
  for (int start = 0; start < 2; ++start) {  // the second time it is passed, and does no harm
    const auto again = walrelay_command({"run", "--drain", "--skip", id}, setting.configuration(""), {}, seconds(60));
    INFO(again.errors);
    CHECK(again.status == 0);
    CHECK(count_of(again.errors, "event_skipped") == (start == 0 ? 1 : 0));
  }
  auto expected = RefusedInBatch::from_to(1, 10);
  for (const auto& number : RefusedInBatch::from_to(1, 21)) expected.push_back(number);
  CHECK(setting.stored() == expected);
}

}  // namespace
}  // namespace walrelay::test
