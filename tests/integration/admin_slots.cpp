// Making and dropping slots (connector/postgres/slot_admin.h).

#include <fmt/format.h>

#include <future>

#include "connector/postgres/catalog.h"
#include "connector/postgres/slot_admin.h"
#include "tests/integration/admin_support.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

using std::chrono::milliseconds;

struct Making {
  std::vector<std::string> reports;
  std::string error;
  std::string sqlstate;
};

Making make(const std::string& dsn, const std::string& slot, const SlotPatience& patience) {
  Making result;
  try {
    PgConnection creator(query_conninfo(dsn, slot));
    PgConnection observer(query_conninfo(dsn, slot));
    create_slot(creator, observer, slot, [&](const std::string& line) { result.reports.push_back(line); }, patience);
  } catch (const PgError& error) {
    result.error = error.message();
    result.sqlstate = error.sqlstate();
  }
  return result;
}

TEST_CASE("making a slot behind an open transaction tells whom it waits for, and leaves nothing when it gives up") {
  TestDatabase database;
  database.exec("CREATE TABLE junk (t text)");
  PgSession blocker(database.dsn() + " application_name=forgotten_job");
  blocker.exec("BEGIN; INSERT INTO junk VALUES ('open')");
  const auto pid = blocker.value("SELECT pg_backend_pid()");

  const auto made = make(database.dsn(), database.name(), {milliseconds(200), milliseconds(200), milliseconds(3'000)});
  REQUIRE(made.reports.size() > 1);
  const auto& last = made.reports.back();  // before it there may have been another test's transaction in the way
  CHECK_THAT(last, ContainsSubstring("pid " + pid));
  CHECK_THAT(last, ContainsSubstring("forgotten_job"));
  CHECK_THAT(last, ContainsSubstring("idle in transaction"));
  CHECK_THAT(made.error, ContainsSubstring("nothing was left behind"));
  CHECK_THAT(made.error, ContainsSubstring("pid " + pid));
  blocker.exec("ROLLBACK");
  CHECK(database.value("SELECT count(*) FROM pg_replication_slots WHERE slot_name = current_database()") == "0");
}

TEST_CASE("a prepared transaction in the way is named too") {
  PostgresServer server(ServerSettings{{"max_prepared_transactions", "2"}});
  server.exec("CREATE TABLE junk (t text)");
  server.exec("BEGIN; INSERT INTO junk VALUES ('x'); PREPARE TRANSACTION 'left over'");
  const auto made = make(server.dsn(), "s", {milliseconds(200), milliseconds(10'000), milliseconds(1'000)});
  CHECK_THAT(made.error, ContainsSubstring("prepared transaction \"left over\""));
}

TEST_CASE("the role's statement time-out does not end the making of a slot half way") {
  TestDatabase database;
  database.exec("CREATE TABLE junk (t text)");
  PgSession blocker(database.dsn());
  blocker.exec("BEGIN; INSERT INTO junk VALUES ('open')");
  auto making =
      std::async(std::launch::async, make, database.dsn() + " options='-c statement_timeout=300'", database.name(),
                 SlotPatience{milliseconds(1'000), milliseconds(10'000), milliseconds(30'000)});
  CHECK(making.wait_for(milliseconds(1'200)) == std::future_status::timeout);
  blocker.exec("COMMIT");
  const auto made = making.get();
  CHECK(made.error == "");
  CHECK(database.value("SELECT count(*) FROM pg_replication_slots WHERE slot_name = current_database()") == "1");
}

TEST_CASE("a slot that exists, and a role without the right, are told with their reasons") {
  TestDatabase database;
  database.exec("SELECT pg_create_logical_replication_slot(current_database(), 'pgoutput')");
  CHECK(make(database.dsn(), database.name(), {}).sqlstate == "42710");
  const auto role = database.name() + "_plain";
  database.exec("CREATE ROLE " + role + " LOGIN");
  const auto made = make(database.dsn() + " user=" + role, database.name() + "2", {});
  CHECK(made.sqlstate == "42501");
  CHECK_THAT(made.error, ContainsSubstring("--role"));
  database.exec("DROP ROLE " + role);
}

TEST_CASE("a slot in use is not dropped, and its user is named") {
  AdminFixture admin;
  REQUIRE(admin.init().status == 0);
  PgConnection stream(replication_conninfo(admin.database().dsn(), admin.name()));
  stream.exec_simple(fmt::format(
      "START_REPLICATION SLOT \"{0}\" LOGICAL 0/0 (proto_version '1', publication_names '\"{0}\"')", admin.name()));
  const auto refused = admin.run("drop", {"--yes"});
  CHECK(refused.status == 1);
  CHECK_THAT(refused.errors, ContainsSubstring(fmt::format("pid {}, walrelay/{}", stream.backend_pid(), admin.name())));
  CHECK(admin.count("pg_publication") == "1");

  const auto checked = admin.check();
  CHECK(finds(checked, "slot.active", "warning"));
  CHECK(checked.status == 0);
  CHECK_THAT(admin.run("status", {}).output, ContainsSubstring(fmt::format("active, pid {}", stream.backend_pid())));
}

}  // namespace
}  // namespace walrelay::test
