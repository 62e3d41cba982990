// `walrelay recover`: after a slot was lost, dropped, or made anew by somebody else.

#include <fmt/format.h>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

class Recovery {
 public:
  [[nodiscard]] Outbox& outbox() { return outbox_; }
  [[nodiscard]] TestDatabase& database() { return database_; }
  [[nodiscard]] CommandResult run(const std::string& command, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{command, "--set", "http.listen="};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return walrelay_command(arguments, outbox_.configuration(), {}, seconds(60));
  }
  void drain() const {
    const auto drained = run("run", {"--drain"});
    INFO(drained.errors);
    REQUIRE(drained.status == 0);
  }
  void drop_slot() { database_.exec("SELECT pg_drop_replication_slot(current_database())"); }

 private:
  TestDatabase database_;
  Outbox outbox_{database_.dsn(), database_.dsn(), database_.name(), shared_kafka()};
};

TEST_CASE("a missing slot ends a relay with the way out named, and recover leaves no gap", "[versions]") {
  Recovery recovery;
  auto& outbox = recovery.outbox();
  outbox.insert(20);
  recovery.drain();
  recovery.drop_slot();
  outbox.insert(20);  // in no slot
  const auto stopped = recovery.run("run");
  CHECK(stopped.status == 5);
  CHECK_THAT(stopped.errors, ContainsSubstring("walrelay recover"));

  const auto recovered = recovery.run("recover", {"--yes"});
  INFO(recovered.errors);
  REQUIRE(recovered.status == 0);
  CHECK_THAT(recovered.errors, ContainsSubstring("does not exist"));
  CHECK_THAT(recovered.errors, ContainsSubstring("publishing all rows"));
  outbox.insert(20);
  recovery.drain();
  const auto comparison = outbox.compare();
  INFO(comparison.text());
  CHECK(comparison.complete());
  CHECK(comparison.repeats == 20);  // of what the first slot had brought
}

TEST_CASE("recover replaces a slot that can be read, asks before, and none accepts the gap by name") {
  Recovery recovery;
  recovery.outbox().insert(20);
  const auto old = recovery.outbox().confirmed().to_string();
  const auto unasked = recovery.run("recover", {"--backfill", "none"});  // nobody answers
  CHECK(unasked.status == 1);
  CHECK_THAT(unasked.errors, ContainsSubstring("nothing was done"));
  CHECK(recovery.outbox().confirmed().to_string() == old);

  const auto recovered = recovery.run("recover", {"--backfill", "none", "--yes"});
  INFO(recovered.errors);
  REQUIRE(recovered.status == 0);
  const auto position = recovery.outbox().confirmed().to_string();
  CHECK_THAT(recovered.errors, ContainsSubstring(fmt::format("from {} to {} are not published", old, position)));
  recovery.outbox().insert(5);
  recovery.drain();
  const auto comparison = recovery.outbox().compare(seconds(1));
  CHECK(comparison.missing == 20);
}

TEST_CASE("a slot that is in use, and one of another plugin, are not touched by recover") {
  Recovery recovery;
  {
    RelayProcess relay(recovery.outbox().configuration());
    REQUIRE(relay.wait_ready());
    const auto refused = recovery.run("recover", {"--yes"});
    CHECK(refused.status != 0);
    CHECK_THAT(refused.errors, ContainsSubstring("in use by pid"));
    REQUIRE(relay.stop());
  }
  recovery.drop_slot();
  recovery.database().exec("SELECT pg_create_logical_replication_slot(current_database(), 'test_decoding')");
  const auto refused = recovery.run("recover", {"--yes"});
  CHECK(refused.status == 1);
  CHECK_THAT(refused.errors, ContainsSubstring("test_decoding"));
  CHECK(recovery.database().value("SELECT plugin FROM pg_replication_slots WHERE slot_name = current_database()") ==
        "test_decoding");
}

TEST_CASE("a lost slot is dropped and made anew with the rows that it lost", "[versions]") {
  PostgresServer server({{"max_slot_wal_keep_size", "1MB"}, {"min_wal_size", "32MB"}, {"max_wal_size", "64MB"}});
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), shared_kafka());
  outbox.insert(20);
  REQUIRE(wait_until(seconds(60), [&] {
    outbox.session().exec("INSERT INTO junk VALUES ('x'); SELECT pg_switch_wal(); CHECKPOINT");
    return outbox.session().value("SELECT wal_status FROM pg_replication_slots") == "lost";
  }));
  const auto stopped = walrelay_command({"run", "--set", "http.listen="}, outbox.configuration());
  CHECK(stopped.status == 5);
  CHECK_THAT(stopped.errors, ContainsSubstring("walrelay recover"));
  const auto recovered = walrelay_command({"recover", "--yes"}, outbox.configuration());
  INFO(recovered.errors);
  REQUIRE(recovered.status == 0);
  CHECK_THAT(recovered.errors, ContainsSubstring("is lost"));
  outbox.insert(20);
  REQUIRE(walrelay_command({"run", "--drain", "--set", "http.listen="}, outbox.configuration()).status == 0);
  const auto comparison = outbox.compare();
  INFO(comparison.text());
  CHECK(comparison.exact());
}

}  // namespace
}  // namespace walrelay::test
