// `walrelay run` that cannot start ends with its documented status and says in one line what to do.

#include <fmt/format.h>

#include <algorithm>

#include "tests/support/catch.h"
#include "tests/support/outbox_case.h"

namespace walrelay::test {
namespace {

class PlainOutbox : public OutboxCase {
 public:
  PlainOutbox() {
    exec("CREATE TABLE outbox (payload text)");
    add_outbox("table = \"public.outbox\"\ntopic = \"t\"\nvalue = \"{payload}\"");
    set_sink("[sink]\ntype = \"stdout\"");
  }
  [[nodiscard]] CommandResult start(std::vector<std::string> arguments = {}) const {
    arguments.insert(arguments.end(), {"--drain", "--log-level", "error"});
    return run("run", arguments);
  }
};

auto line_count(const CommandResult& result) { return std::count(result.errors.begin(), result.errors.end(), '\n'); }

void check_refused(const CommandResult& result, int status, const std::vector<std::string>& words) {
  CAPTURE(result.errors);
  CHECK(result.status == status);
  CHECK(line_count(result) == 1);
  CHECK(result.output.empty());
  for (const auto& word : words) CHECK_THAT(result.errors, ContainsSubstring(word));
}

// No server is asked.
CommandResult start_with(const std::string& lines, const std::vector<std::string>& arguments = {}) {
  std::vector<std::string> all{"run"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return walrelay_command(all, "[postgres]\ndsn = \"host=nowhere.invalid\"\n" + lines);
}

TEST_CASE("a configuration that is wrong is status 2, and one line names the key and the remedy") {
  const std::string outbox = "[[outbox]]\ntable = \"public.outbox\"\npreset = \"standard\"\n";
  check_refused(start_with(outbox + "valeu = \"x\""), 2, {"valeu", "value"});
  check_refused(start_with(outbox + "key = \"{payload|shout}\""), 2, {"public.outbox, key", "shout", "kebab"});
  check_refused(start_with(outbox + "key = \"{payload\""), 2, {"public.outbox, key", "{payload"});
  check_refused(start_with(outbox, {"--set", "delivery.max_in_flight=many"}), 2, {"delivery.max_in_flight", "many"});
  check_refused(start_with(outbox, {"--slot", "Not-A-Slot"}), 2, {"slot", "not_a_slot"});
  check_refused(start_with(outbox, {"--set", "sink.kafka.acks=1"}), 2, {"acks"});
  check_refused(start_with(""), 2, {"[[outbox]]"});
}

TEST_CASE("a property that librdkafka does not know is status 2") {
  PlainOutbox outbox;
  outbox.init();
  check_refused(outbox.start({"--sink", "kafka", "--brokers", "localhost:1", "-X", "lingr.ms=5"}), 2, {"lingr.ms"});
}

TEST_CASE("a missing publication is status 3, before anything is read") {
  PlainOutbox outbox;
  outbox.init();
  outbox.exec(fmt::format("DROP PUBLICATION \"{}\"", outbox.name()));
  check_refused(outbox.start(), 3, {outbox.name(), "publication", "walrelay init"});
}

TEST_CASE("a table that is not published at the start is status 3, and nothing of other tables is passed over") {
  PlainOutbox outbox;
  outbox.init();
  outbox.exec("INSERT INTO outbox VALUES ('x')");
  const auto before = outbox.confirmed();
  check_refused(outbox.start({"--set", "outbox.0.table=public.outbxo"}), 3,
                {"public.outbxo", outbox.name(), "remedy: correct the table's name"});
  CHECK(outbox.confirmed() == before);
}

TEST_CASE("a missing slot is status 5, and is not made") {
  PlainOutbox outbox;
  outbox.exec(fmt::format("CREATE PUBLICATION \"{}\" FOR TABLE outbox", outbox.name()));
  check_refused(outbox.start(), 5, {outbox.name(), "walrelay init"});
  CHECK(outbox.confirmed().empty());
}

TEST_CASE("a slot of another plugin, kind or database is status 3") {
  PlainOutbox outbox;
  outbox.exec(fmt::format("CREATE PUBLICATION \"{}\" FOR TABLE outbox", outbox.name()));
  outbox.exec("SELECT pg_create_logical_replication_slot(current_database(), 'test_decoding')");
  check_refused(outbox.start(), 3, {"pgoutput", "test_decoding"});
  outbox.exec("SELECT pg_drop_replication_slot(current_database())");

  outbox.exec("SELECT pg_create_physical_replication_slot(current_database())");
  check_refused(outbox.start(), 3, {"logical"});
  outbox.exec("SELECT pg_drop_replication_slot(current_database())");

  PlainOutbox other;
  other.init();
  check_refused(outbox.start({"--slot", other.name()}), 3, {other.name(), outbox.name(), "database"});
}

TEST_CASE("a database or role that is not there, and a role without the right, are status 3") {
  PlainOutbox outbox;
  outbox.init();
  const auto dsn = outbox.database().dsn();
  check_refused(outbox.start({"--dsn", dsn + " dbname=no_such_database"}), 3, {"no_such_database"});
  check_refused(outbox.start({"--dsn", dsn + " user=nobody_here"}), 3, {"nobody_here"});
  outbox.exec(fmt::format("CREATE ROLE \"{}\" LOGIN", outbox.name()));
  check_refused(outbox.start({"--dsn", dsn + " user=" + outbox.name()}), 3, {"REPLICATION"});
  outbox.exec(fmt::format("DROP ROLE \"{}\"", outbox.name()));
}

TEST_CASE("a mapping of a column that the table never had is status 2, in the words of check, and nothing is read") {
  PlainOutbox outbox;
  outbox.init();
  outbox.exec("INSERT INTO outbox VALUES ('x')");
  const auto before = outbox.confirmed();
  const std::string setting = "outbox.0.headers.none={no_such_column}";
  check_refused(outbox.start({"--set", setting}), 2,
                {"table public.outbox has no column \"no_such_column\"", "remedy: "});
  CHECK_THAT(outbox.run("check", {"--set", setting}).output,
             ContainsSubstring("table public.outbox has no column \"no_such_column\""));
  CHECK(outbox.confirmed() == before);
}

}  // namespace
}  // namespace walrelay::test
