// Rows that the stream has and nobody may see yet.

#include <future>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

// Its commit is flushed, and sent, before anybody may see it.
TEST_CASE("a row whose commit waits for a synchronous standby is marked once it is visible") {
  PostgresServer server;
  server.exec("ALTER DATABASE postgres SET synchronous_commit = local");  // of the relay, and of the test itself
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), shared_kafka());
  server.exec("ALTER TABLE outbox ADD processed_at timestamptz");
  RelayProcess relay(outbox.configuration(), {"--set", "outbox.0.processed_at=processed_at"});
  REQUIRE(relay.wait_ready());
  server.set("synchronous_standby_names", "nobody");
  PgSession writer(server.dsn());
  writer.exec("SET synchronous_commit = on");
  auto writing = std::async(std::launch::async, [&] {
    writer.exec("INSERT INTO outbox (type, payload) VALUES ('T', jsonb_build_object('k', 'k', 'n', 1))");
  });
  CHECK(wait_until(seconds(20), [&] { return relay.metric("walrelay_events_total") == 1.0; }));
  const std::string asked =
      "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_visible_in_snapshot%' AND pid <> pg_backend_pid()";
  CHECK(wait_until(seconds(20), [&] { return outbox.session().value(asked) == "1"; }));
  CHECK(relay.metric("walrelay_write_back_pending_rows") == 1.0);
  CHECK(outbox.session().value("SELECT count(*) FROM outbox") == "0");
  server.set("synchronous_standby_names", "");
  writing.get();
  const auto marked = [&] { return outbox.session().value("SELECT count(processed_at) FROM outbox") == "1"; };
  const bool in_time = wait_until(seconds(10), marked);
  INFO(relay.log());
  CHECK(in_time);
  CHECK(outbox.wait_confirmed());
  CHECK(relay.metric("walrelay_write_back_rows_total", {{"result", "unchanged"}}) == 0.0);
}

}  // namespace
}  // namespace walrelay::test
