// `walrelay replay`: rows of the table and dead letters once more.

#include <fmt/format.h>

#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/outbox_case.h"
#include "tests/support/shared_servers.h"

namespace walrelay::test {
namespace {

class Replay {
 public:
  // Topics begin with the outbox's name where the template names the type.
  explicit Replay(const std::string& topic_template = "", const std::string& sink = "") {
    outbox_.exec(
        "CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), occurred_at timestamptz, type text, "
        "payload jsonb)");
    outbox_.add_outbox("table = \"public.outbox\"\npreset = \"standard\"\ntopic = \"" +
                       (topic_template.empty() ? topic("{type}") : topic_template) + "\"\nkey = \"{payload/k}\"");
    if (!sink.empty()) outbox_.set_sink(sink);
    outbox_.add_settings("[delivery]\non_error = \"dead-letter\"\ndead_letter_topic = \"" + topic("dead") + "\"");
    outbox_.init();
  }
  [[nodiscard]] OutboxCase& outbox() { return outbox_; }
  [[nodiscard]] std::string topic(const std::string& type) const { return outbox_.name() + "." + type; }
  std::string insert(const std::string& type, int hour, const std::string& payload) {
    return outbox_.database().value(
        fmt::format("INSERT INTO outbox (occurred_at, type, payload) VALUES ('2024-02-29 {:02}:00:00+00', '{}', '{}') "
                    "RETURNING id",
                    hour, type, payload));
  }
  [[nodiscard]] CommandResult replay(const std::vector<std::string>& flags) const {
    return outbox_.run("replay", flags);
  }

 private:
  OutboxCase outbox_;
};

TEST_CASE("replay publishes the rows that id, type and time choose, as they were, and moves no slot", "[versions]") {
  Replay setting;
  auto& outbox = setting.outbox();
  const auto first = setting.insert("A", 1, "1");
  const auto second = setting.insert("A", 2, "2");
  const auto third = setting.insert("B", 3, "3");
  outbox.drain();
  const auto confirmed = outbox.confirmed();
  const auto as = [&] { return OutboxCase::values(setting.topic("A")); };

  CHECK(setting.replay({"--id", second, "--id", third}).status == 0);
  CHECK(as() == std::vector<std::string>{"1", "2", "2"});
  CHECK(OutboxCase::values(setting.topic("B")) == std::vector<std::string>{"3", "3"});
  const auto by_time =
      setting.replay({"--type", "A", "--since", "2024-02-29 01:00:00", "--until", "2024-02-29T02:00:00Z"});
  INFO(by_time.errors);
  CHECK(by_time.status == 0);
  CHECK_THAT(by_time.errors, ContainsSubstring("1 row published from public.outbox"));
  CHECK(as() == std::vector<std::string>{"1", "2", "2", "1"});
  CHECK(OutboxCase::records(setting.topic("A"))[3].headers == OutboxCase::records(setting.topic("A"))[0].headers);
  CHECK(outbox.confirmed() == confirmed);

  const std::string unknown = "00000000-0000-0000-0000-000000000000";
  const auto missing = setting.replay({"--id", first, "--id", unknown});
  CHECK(missing.status == 1);
  CHECK_THAT(missing.errors, ContainsSubstring("1 of the 2 ids were not found"));
  const auto none = setting.replay({"--id", unknown});
  CHECK(none.status == 1);
  CHECK(none.errors == "walrelay replay: no row of public.outbox has the id " + unknown + "\n");
  CHECK_THAT(setting.replay({"--id", first, "--type", "B"}).errors, ContainsSubstring("the other flags"));
  const auto no_uuid = setting.replay({"--id", "42"});
  CHECK(no_uuid.status == 2);
  CHECK_THAT(no_uuid.errors,
             ContainsSubstring("--id: column \"id\" of table public.outbox is uuid: ") && ContainsSubstring("\"42\""));
}

TEST_CASE("replay draws a bar on a terminal, and nothing of it elsewhere") {
  Replay setting;
  auto& outbox = setting.outbox();
  for (int hour = 1; hour <= 3; ++hour) setting.insert("A", hour, "1");
  const auto plain = setting.replay({"--type", "A"});
  CHECK(plain.status == 0);
  CHECK_THAT(plain.errors, ContainsSubstring("replay: 3 of 3 rows (100 %)"));
  CHECK(plain.errors.find_first_of("\r\033") == std::string::npos);

  TempDir directory;
  const auto file = directory.file("relay.toml");
  write_file(file, outbox.configuration());
  ProcessOptions options;
  options.environment = {{"TERM", "xterm"}};
  const auto drawn = run_command(
      "script", {"-qec", fmt::format("'{}' replay -c '{}' --type A", walrelay_program(), file), "/dev/null"}, options);
  INFO(drawn.output + drawn.errors);
  CHECK(drawn.status == 0);
  CHECK_THAT(drawn.output, ContainsSubstring("\rreplay [####################] 100 %  3 of 3 rows"));
  CHECK_THAT(drawn.output, ContainsSubstring("\033[K\r\n3 rows published"));
}

TEST_CASE("without a filter replay asks, and with yes it publishes everything") {
  Replay setting;
  setting.insert("A", 1, "1");
  setting.insert("A", 2, "2");
  setting.outbox().drain();
  const auto asked = setting.replay({});
  CHECK(asked.status == 1);
  CHECK_THAT(asked.errors, ContainsSubstring("every row of public.outbox"));
  CHECK(setting.replay({"--yes"}).status == 0);
  CHECK(OutboxCase::values(setting.topic("A")) == std::vector<std::string>{"1", "2", "1", "2"});
  const auto shown = setting.replay({"--sink", "stdout", "--type", "A"});
  CHECK(shown.status == 0);
  CHECK_THAT(shown.output, ContainsSubstring("\"value\":2"));
}

TEST_CASE("dead letters go to the topic that they were meant for, without the headers that say why") {
  Replay setting("{payload/t}", "[sink.kafka]\n\"bootstrap.servers\" = \"" + shared_kafka() +
                                    "\"\n\"allow.auto.create.topics\" = false\n");
  create_topic(shared_kafka(), setting.topic("dead"), 2);
  const auto for_topic = [&](const std::string& topic, int n) {
    return fmt::format(R"({{"k": "key", "n": {}, "t": "{}"}})", n, setting.topic(topic));
  };
  const auto first = setting.insert("T", 1, for_topic("late", 1));
  const auto second = setting.insert("T", 2, for_topic("late", 2));
  setting.insert("T", 3, R"({"k": "key"})");  // the mapping gives it no topic
  setting.outbox().drain();
  REQUIRE(OutboxCase::records(setting.topic("dead")).size() == 3);
  const auto refused = setting.replay({"--dead-letters", "--id", first, "--set", "delivery.on_error=halt"});
  INFO(refused.errors);
  CHECK(refused.status == 4);  // its topic is still missing
  CHECK_THAT(refused.errors, ContainsSubstring(first));

  create_topic(shared_kafka(), setting.topic("late"));
  const auto one = setting.replay({"--dead-letters", "--id", second});
  INFO(one.errors);
  REQUIRE(one.status == 0);
  const auto records = OutboxCase::records(setting.topic("late"));
  REQUIRE(records.size() == 1);
  CHECK(records[0].key == "key");
  CHECK(records[0].value->find("\"n\": 2") != std::string::npos);
  CHECK(records[0].headers ==
        std::vector<std::pair<std::string, std::optional<std::string>>>{{"id", second}, {"type", "T"}});
  CHECK(records[0].timestamp_ms == 1'709'172'000'000);

  CHECK_THAT(one.errors, ContainsSubstring("replay: 3 of 3 dead letters (100 %)"));
  CHECK_THAT(one.errors, ContainsSubstring("1 dead letter published, to the topics that their events were meant for"));
  const auto none = setting.replay({"--dead-letters", "--id", "none"});
  CHECK(none.status == 1);
  CHECK_THAT(none.errors,
             ContainsSubstring("no dead letter of topic \"" + setting.topic("dead") + "\" has the id none"));

  CHECK(setting.replay({"--dead-letters"}).status == 1);  // nobody answers
  const auto all = setting.replay({"--dead-letters", "--yes"});
  CHECK(all.status == 1);
  CHECK_THAT(all.errors, ContainsSubstring("2 dead letters published"));
  CHECK_THAT(all.errors, ContainsSubstring("1 not published, since nobody knows for which topic"));
}

}  // namespace
}  // namespace walrelay::test
