// What becomes of a running relay when tables and publication change under it.

#include <fmt/format.h>

#include "tests/support/catch.h"
#include "tests/support/outbox_case.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

using Values = std::vector<std::string>;

// public.outbox (n, payload) with a running relay that has delivered row 1.
class RunningOutbox : public OutboxCase {
 public:
  explicit RunningOutbox(const std::string& settings = "") {
    exec("CREATE TABLE outbox (n integer PRIMARY KEY, payload text)");
    exec(fmt::format("CREATE PUBLICATION \"{}\" FOR TABLE outbox", name()));  // updates and deletes as well
    add_outbox(
        fmt::format("table = \"public.outbox\"\nid = \"{{n}}\"\ntopic = \"{}\"\nkey = \"{{n}}\"\n"
                    "value = \"{{payload}}\"",
                    name()));
    add_settings(settings);
    init();
    exec("INSERT INTO outbox VALUES (1, 'one')");
    relay_.emplace(configuration());
    REQUIRE(wait_drained());
  }

  [[nodiscard]] RelayProcess& relay() { return *relay_; }
  [[nodiscard]] Values arrived() {
    INFO(relay().log());
    REQUIRE(wait_drained());
    return values(name());
  }
  // Ends the relay's sessions of that kind; it makes new ones, and looks at the publication anew.
  void cut(const std::string& backend_type) {
    exec(
        fmt::format("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'walrelay/{}' "
                    "AND backend_type = '{}'",
                    name(), backend_type));
  }
  [[nodiscard]] bool waits_unready(const std::string& text) {
    return wait_until(seconds(10), [&] {
      const auto reply = relay().get("/readyz");
      return reply.status == 503 && reply.body.find(text) != std::string::npos;
    });
  }
  // Until it gives up with that status; its log.
  [[nodiscard]] std::string ended_with(int status) {
    const auto ended = relay().process().wait(seconds(20));
    INFO(relay().log());
    CHECK(ended == ExitStatus{status, 0});
    return relay().log();
  }

 private:
  std::optional<RelayProcess> relay_;
};

TEST_CASE("a renamed column that the mapping needs halts the relay, and once it has its name back the rows arrive") {
  RunningOutbox outbox;
  outbox.exec("ALTER TABLE outbox RENAME payload TO body");
  outbox.exec("INSERT INTO outbox VALUES (2, 'two')");
  const auto commit = outbox.wal_position();
  CHECK_THAT(outbox.ended_with(4), ContainsSubstring("public.outbox") && ContainsSubstring("\"payload\""));
  CHECK_FALSE(outbox.confirmed_reaches(commit));

  // As it was written the row has no payload, whatever the table looks like now: a matter of policy.
  outbox.exec("ALTER TABLE outbox RENAME body TO payload");
  outbox.exec("INSERT INTO outbox VALUES (3, 'three')");
  CHECK(outbox.run("run", {"--drain"}).status == 4);
  CHECK(outbox.run("run", {"--drain", "--set", "delivery.on_error.mapping=skip"}).status == 0);
  CHECK(OutboxCase::values(outbox.name()) == Values{"one", "three"});
}

TEST_CASE("with a dead-letter policy rows that a schema change has made unmappable pass by, whole and named") {
  RunningOutbox outbox("[delivery]\non_error = { mapping = \"dead-letter\" }");
  outbox.exec("ALTER TABLE outbox DROP payload");
  outbox.exec("INSERT INTO outbox VALUES (2), (3)");
  outbox.exec("ALTER TABLE outbox ADD payload text; INSERT INTO outbox VALUES (4, 'four')");
  CHECK(outbox.arrived() == Values{"one", "four"});
  CHECK(outbox.relay().metric("walrelay_events_total", {{"result", "dead_letter"}}) == 2.0);
}

TEST_CASE("an outbox that is renamed stays one, beside a new table of its name and over sessions, and is told") {
  RunningOutbox outbox;
  outbox.exec("ALTER TABLE outbox RENAME TO outbox_2025");
  outbox.exec("INSERT INTO outbox_2025 VALUES (2, 'two')");
  CHECK(outbox.arrived() == Values{"one", "two"});
  outbox.cut("walsender");
  outbox.cut("client backend");
  CHECK(outbox.waits_unready("public.outbox"));
  outbox.exec("INSERT INTO outbox_2025 VALUES (3, 'three')");
  CHECK(outbox.arrived() == Values{"one", "two", "three"});

  outbox.exec("CREATE TABLE outbox (payload text, n integer)");
  outbox.exec(fmt::format("ALTER PUBLICATION \"{}\" ADD TABLE outbox", outbox.name()));
  outbox.exec("INSERT INTO outbox VALUES ('four', 4); INSERT INTO outbox_2025 VALUES (5, 'five')");
  CHECK(outbox.arrived() == Values{"one", "two", "three", "four", "five"});
  outbox.cut("client backend");
  CHECK(outbox.relay().wait_ready());
}

TEST_CASE("a column's type may change while the relay runs") {
  RunningOutbox outbox;
  outbox.exec("ALTER TABLE outbox ALTER n TYPE text USING 'n' || n; INSERT INTO outbox VALUES ('n2', 'two')");
  outbox.exec("ALTER TABLE outbox ALTER payload TYPE bytea USING convert_to(payload, 'UTF8')");
  outbox.exec("INSERT INTO outbox VALUES ('n3', 'three')");
  outbox.exec("ALTER TABLE outbox ALTER payload TYPE jsonb USING '0'; INSERT INTO outbox VALUES ('n4', '[4]')");
  CHECK(outbox.arrived() == Values{"one", "two", "three", "[4]"});
  const auto records = OutboxCase::records(outbox.name());
  CHECK(records.back().key == "n4");
}

TEST_CASE("a change of the replica identity changes nothing, whatever else the publication publishes") {
  RunningOutbox outbox;
  int n = 2;
  for (const char* identity : {"FULL", "NOTHING", "USING INDEX outbox_pkey", "DEFAULT"}) {
    outbox.exec(fmt::format("ALTER TABLE outbox REPLICA IDENTITY {}", identity));
    outbox.exec(fmt::format("INSERT INTO outbox VALUES ({}, '{}')", n, n));
    if (std::string(identity) != "NOTHING") outbox.exec(fmt::format("UPDATE outbox SET payload = 'x' WHERE n = {}", n));
    ++n;
  }
  CHECK(outbox.arrived() == Values{"one", "2", "3", "4", "5"});
  CHECK(outbox.relay().metric("walrelay_events_total", {{"result", "ignored"}}) == 3.0);
}

TEST_CASE("a table that leaves the publication makes the relay unready until it is back") {
  RunningOutbox outbox;
  outbox.exec(fmt::format("ALTER PUBLICATION \"{}\" DROP TABLE outbox", outbox.name()));
  outbox.cut("client backend");
  CHECK(outbox.waits_unready("table \"public.outbox\" is not in publication"));
  outbox.exec("INSERT INTO outbox VALUES (2, 'not published')");
  outbox.exec(fmt::format("ALTER PUBLICATION \"{}\" ADD TABLE outbox", outbox.name()));
  outbox.exec("INSERT INTO outbox VALUES (3, 'three')");
  outbox.cut("client backend");
  CHECK(outbox.relay().wait_ready());
  CHECK(outbox.arrived() == Values{"one", "three"});
}

TEST_CASE("a publication that no longer publishes inserts makes the relay unready at once, until it does again") {
  RunningOutbox outbox;
  outbox.exec(fmt::format("ALTER PUBLICATION \"{}\" SET (publish = 'update')", outbox.name()));
  CHECK(outbox.waits_unready("does not publish inserts"));
  CHECK_THAT(outbox.relay().log(), ContainsSubstring("publication_unfit"));
  outbox.exec(fmt::format("ALTER PUBLICATION \"{}\" SET (publish = 'insert')", outbox.name()));
  CHECK(outbox.relay().wait_ready());
  outbox.exec("INSERT INTO outbox VALUES (2, 'two')");
  CHECK(outbox.arrived() == Values{"one", "two"});
}

TEST_CASE("a column list that leaves out a mapped column halts the relay before its row") {
  RunningOutbox outbox;
  if (std::stoi(outbox.database().value("SHOW server_version_num")) < 150'000) return;
  outbox.exec(fmt::format("ALTER PUBLICATION \"{}\" SET TABLE outbox (n)", outbox.name()));
  outbox.exec("INSERT INTO outbox VALUES (2, 'two')");
  const auto commit = outbox.wal_position();
  CHECK_THAT(outbox.ended_with(4), ContainsSubstring("public.outbox") && ContainsSubstring("\"payload\""));
  CHECK_FALSE(outbox.confirmed_reaches(commit));
}

TEST_CASE("a publication that is dropped under a relay ends it with 3 before the next row", "[versions]") {
  RunningOutbox outbox;
  outbox.exec(fmt::format("DROP PUBLICATION \"{}\"", outbox.name()));
  outbox.exec("INSERT INTO outbox VALUES (2, 'two')");
  const auto commit = outbox.wal_position();
  CHECK_THAT(outbox.ended_with(3), ContainsSubstring("publication \"" + outbox.name() + "\""));
  CHECK_FALSE(outbox.confirmed_reaches(commit));
}

TEST_CASE("rows of a table that was dropped and made anew arrive, those of the old one too", "[versions]") {
  RunningOutbox outbox;
  REQUIRE(outbox.relay().stop() == ExitStatus{143, 0});
  outbox.exec("INSERT INTO outbox VALUES (2, 'two')");
  outbox.exec("DROP TABLE outbox");
  outbox.exec("CREATE TABLE outbox (payload text, n bigint)");
  outbox.exec(fmt::format("ALTER PUBLICATION \"{}\" ADD TABLE outbox", outbox.name()));
  outbox.exec("INSERT INTO outbox VALUES ('three', 3)");
  outbox.drain();
  CHECK(OutboxCase::values(outbox.name()) == Values{"one", "two", "three"});
}

}  // namespace
}  // namespace walrelay::test
