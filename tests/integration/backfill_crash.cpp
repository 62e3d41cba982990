// `walrelay init --backfill` that is ended before it is done: the finished slot is there, or nothing is.

#include <fmt/format.h>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

// An outbox with rows and no slot, and a backfill of it that takes some seconds.
class SlowBackfill {
 public:
  SlowBackfill() {
    database_.exec("SELECT pg_drop_replication_slot(current_database())");
    outbox_.insert_at_once(300);
    write_file(directory_.file("walrelay.toml"), outbox_.configuration("max_in_flight = 1"));
    init_.emplace(walrelay_program(), std::vector<std::string>{"init", "--backfill", "all", "-X", "linger.ms=15", "-c",
                                                               directory_.file("walrelay.toml")});
  }

  [[nodiscard]] Outbox& outbox() { return outbox_; }
  [[nodiscard]] Process& init() { return *init_; }
  [[nodiscard]] bool says(const std::string& text) {
    return wait_until(seconds(60), [&] { return init_->errors().find(text) != std::string::npos; });
  }
  [[nodiscard]] std::string slots(const std::string& which) {
    return database_.value("SELECT count(*) FROM pg_replication_slots WHERE database = current_database() AND " +
                           which);
  }

 private:
  TestDatabase database_;
  Outbox outbox_{database_.dsn(), database_.dsn(), database_.name(), shared_kafka()};
  TempDir directory_;
  std::optional<Process> init_;
};

TEST_CASE("a backfill that is killed leaves the finished slot or nothing, and can be begun again") {
  SlowBackfill backfill;
  const auto moment = GENERATE(as<std::string>(), "publishing all rows", "0 of 300 rows", "s left", "rows published");
  CAPTURE(moment);
  REQUIRE(backfill.says(moment));
  backfill.init().signal(SIGKILL);
  REQUIRE(backfill.init().wait(seconds(10)));
  // The server notices when the connection is gone.
  REQUIRE(wait_until(seconds(20), [&] { return backfill.slots("temporary") == "0"; }));
  auto& outbox = backfill.outbox();
  outbox.insert(10);
  if (backfill.slots("NOT temporary") == "0") {
    const auto again = walrelay_command({"init", "--backfill", "all"}, outbox.configuration());
    INFO(again.errors);
    REQUIRE(again.status == 0);
  }
  const auto drained = walrelay_command({"run", "--drain", "--set", "http.listen="}, outbox.configuration());
  INFO(drained.errors);
  REQUIRE(drained.status == 0);
  const auto comparison = outbox.compare();
  INFO(comparison.text());
  CHECK(comparison.complete());  // in order, though all rows were written at one time
}

TEST_CASE("a signal ends a backfill at once, and no slot is left") {
  SlowBackfill backfill;
  REQUIRE(backfill.says("s left"));
  backfill.init().signal(SIGTERM);
  CHECK(backfill.init().wait(seconds(10)) == ExitStatus{143, 0});
  CHECK_THAT(backfill.init().errors(), ContainsSubstring("no slot was made"));
  CHECK(wait_until(seconds(20), [&] { return backfill.slots("true") == "0"; }));
}

TEST_CASE("a row that cannot be delivered ends a backfill with status 4 and no slot, and a dead letter lets it go on") {
  TestDatabase database;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), shared_kafka());
  database.exec("SELECT pg_drop_replication_slot(current_database())");
  create_topic(shared_kafka(), outbox.name() + ".small", 1, {{"max.message.bytes", "2000"}});
  outbox.insert(20);
  const auto id = database.value(
      "INSERT INTO outbox (type, payload) SELECT 'T', jsonb_build_object('k', 'big', 'n', 1, 'x', repeat('x', 3000)) "
      "RETURNING id");
  const std::vector<std::string> common{"--set", "outbox.0.topic=" + outbox.name() + ".small", "--backfill", "all"};
  const auto init = [&](std::vector<std::string> more) {
    more.insert(more.begin(), "init");
    more.insert(more.end(), common.begin(), common.end());
    return walrelay_command(more, outbox.configuration("dead_letter_topic = \"" + outbox.name() + ".dead\""));
  };
  const std::string slots = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = current_database()";

  const auto halted = init({});
  INFO(halted.errors);
  CHECK(halted.status == 4);
  CHECK_THAT(halted.errors, ContainsSubstring(id));
  CHECK_THAT(halted.errors, ContainsSubstring("too-large"));
  CHECK_THAT(halted.errors, ContainsSubstring("no slot was made"));
  CHECK(database.value(slots) == "0");

  const auto passed = init({"--set", "delivery.on_error.too-large=dead-letter"});
  INFO(passed.errors);
  REQUIRE(passed.status == 0);
  CHECK_THAT(passed.errors, ContainsSubstring("21 rows published, 1 of them as dead letters"));
  CHECK(database.value(slots) == "1");
  const auto letters = TopicReader(shared_kafka(), outbox.name() + ".dead").read_to_end();
  REQUIRE(letters.size() == 1);
  CHECK(letters[0].header("id") == id);
  CHECK(letters[0].header("walrelay-topic") == outbox.name() + ".small");
}

}  // namespace
}  // namespace walrelay::test
