// The outbox without a table: pg_logical_emit_message, PostgreSQL 14 and later.

#include <fmt/format.h>

#include "tests/support/catch.h"
#include "tests/support/outbox_case.h"

namespace walrelay::test {
namespace {

using Values = std::vector<std::string>;

std::string emit(const std::string& content, bool transactional = true, const std::string& prefix = "outbox") {
  return fmt::format("SELECT pg_logical_emit_message({}, '{}', '{}');", transactional, prefix, content);
}

std::string numbered(int n) { return fmt::format("{{\"id\": {0}, \"payload\": {{\"n\": {0}}}}}", n); }

TEST_CASE("transactional messages arrive with their commit, and those rolled back never", "[versions][not13]") {
  OutboxCase outbox;
  outbox.add_outbox(fmt::format("messages = \"outbox\"\ntopic = \"{}\"", outbox.name()));
  outbox.init();
  outbox.exec("BEGIN;" + emit(numbered(1)) + emit(numbered(2)) + "COMMIT");
  outbox.exec("BEGIN;" + emit(numbered(100)) + "ROLLBACK");
  outbox.exec("BEGIN;" + emit(numbered(3)) + "SAVEPOINT s;" + emit(numbered(101)) + "ROLLBACK TO s;" +
              emit(numbered(4)) + "COMMIT");
  outbox.exec("BEGIN;" + emit(numbered(102), false) + "ROLLBACK");
  outbox.exec(emit(numbered(103), false));
  outbox.exec(emit(numbered(104), true, "outbox2") + emit("\\x00not JSON", true, "other"));
  outbox.exec(emit(numbered(5)));
  outbox.drain();
  CHECK(OutboxCase::values(outbox.name()) ==
        Values{R"({"n": 1})", R"({"n": 2})", R"({"n": 3})", R"({"n": 4})", R"({"n": 5})"});
}

TEST_CASE("a message's fields become topic, key, headers and value as they are written", "[versions][not13]") {
  OutboxCase outbox;
  outbox.add_outbox("messages = \"outbox\"");
  outbox.init();
  outbox.exec(emit(fmt::format(
      R"({{"topic": "{}", "key": "4\"2", "id": 12345678901234567890, "type": "OrderPlaced", "headers": {{"tenant": "Zoë", "none": null, "n": 1.10}}, "payload":  {{ "total":12.50 , "total":1 }} }})",
      outbox.name())));
  outbox.exec(emit(fmt::format(R"({{"topic": "{}", "payload": "text"}})", outbox.name())));
  outbox.exec(emit(fmt::format(R"({{"topic": "{}", "payload": null}})", outbox.name())));
  outbox.exec(emit(fmt::format(R"({{"topic": "{}", "key": "k"}})", outbox.name())));
  outbox.drain();
  const auto records = OutboxCase::records(outbox.name());
  REQUIRE(records.size() == 4);
  CHECK(records[0].key == "4\"2");
  CHECK(records[0].value == R"({ "total":12.50 , "total":1 })");
  CHECK(records[0].headers ==
        std::vector<std::pair<std::string, std::optional<std::string>>>{
            {"id", "12345678901234567890"}, {"type", "OrderPlaced"}, {"tenant", "Zoë"}, {"n", "1.10"}});
  CHECK(records[1].value == "\"text\"");
  CHECK_FALSE(records[1].key);
  CHECK(records[2].value == "null");
  CHECK_FALSE(records[3].value);
  CHECK(records[3].key == "k");
}

TEST_CASE("a message that is not a JSON object halts the relay, and is not confirmed") {
  OutboxCase outbox;
  outbox.add_outbox(fmt::format("messages = \"outbox\"\ntopic = \"{}\"", outbox.name()));
  outbox.init();
  outbox.exec(emit("[1]"));
  const auto commit = outbox.wal_position();
  const auto result = outbox.run("run", {"--drain"});
  CHECK(result.status == 4);
  CHECK_THAT(result.errors, ContainsSubstring("messages \"outbox\"") || ContainsSubstring("outbox"));
  CHECK_FALSE(outbox.confirmed_reaches(commit));
}

TEST_CASE("a server that does not send messages is refused by init, check and run", "[versions][not17][not18]") {
  OutboxCase outbox;
  if (std::stoi(outbox.database().value("SHOW server_version_num")) >= 140'000) return;
  outbox.add_outbox(fmt::format("messages = \"outbox\"\ntopic = \"{}\"", outbox.name()));
  const auto made = outbox.run("init");
  CHECK(made.status == 1);
  CHECK_THAT(made.errors, ContainsSubstring("PostgreSQL 13") && ContainsSubstring("use an outbox table"));
  outbox.exec(fmt::format("CREATE PUBLICATION \"{}\"", outbox.name()));
  outbox.exec("SELECT pg_create_logical_replication_slot(current_database(), 'pgoutput')");
  CHECK_THAT(outbox.run("check").output, ContainsSubstring("does not send pg_logical_emit_message"));
  const auto started = outbox.run("run", {"--drain"});
  CHECK(started.status == 3);
  CHECK_THAT(started.errors, ContainsSubstring("upgrade to PostgreSQL 14"));
}

}  // namespace
}  // namespace walrelay::test
