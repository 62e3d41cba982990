// docs/migration.md, done with rows that are inserted all the time.

#include <fmt/format.h>

#include <map>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/outbox_case.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

// The polling relay that is taken over from: marks rows in batches; what it would publish is kept here.
class Poller {
 public:
  explicit Poller(const std::string& dsn) : session_(dsn) {}

  void poll() {
    const auto rows = session_.query(
        "UPDATE outbox SET processed_at = now() WHERE id IN (SELECT id FROM outbox WHERE processed_at IS NULL ORDER BY "
        "occurred_at LIMIT 20 FOR UPDATE SKIP LOCKED) RETURNING id");
    for (const auto& row : rows) ++published_[row[0].value()];
    count_ += rows.size();
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] const std::map<std::string, int>& published() const { return published_; }

 private:
  PgSession session_;
  std::map<std::string, int> published_;
  std::atomic<std::size_t> count_{0};
};

void make_outbox(OutboxCase& outbox) {
  outbox.exec(
      "CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), occurred_at timestamptz DEFAULT now(), type "
      "text, payload jsonb, processed_at timestamptz)");
  outbox.add_outbox("table = \"public.outbox\"\npreset = \"standard\"\nprocessed_at = \"processed_at\"\ntopic = \"" +
                    outbox.name() + "\"");
}

// Sometimes a transaction that stays open for a while, with a time that is long gone when it commits.
void insert_some(PgSession& service) {
  service.exec(
      "BEGIN; INSERT INTO outbox (type, payload) SELECT 'T', to_jsonb(g) FROM generate_series(1, 7) g; "
      "SELECT pg_sleep(CASE WHEN random() < 0.1 THEN 0.05 ELSE 0 END); COMMIT");
}

void check_each_row_came_once(OutboxCase& outbox, const Poller& poller) {
  auto times = poller.published();
  for (const auto& record : OutboxCase::records(outbox.name())) ++times[record.header("id").value()];
  const auto rows = outbox.database().query("SELECT id FROM outbox");
  CAPTURE(rows.size(), poller.count());
  CHECK(times.size() == rows.size());
  for (const auto& row : rows) {
    if (times[row[0].value()] != 1)
      FAIL_CHECK("row " << row[0].value() << " came " << times[row[0].value()] << " times");
  }
}

TEST_CASE("a take-over from a polling relay misses no row and publishes none twice") {
  OutboxCase outbox;
  make_outbox(outbox);
  PgSession service(outbox.database().dsn());
  Background inserts([&] { insert_some(service); });
  Poller poller(outbox.database().dsn());
  Background polling([&] { poller.poll(); });
  REQUIRE(wait_until(seconds(30), [&] { return poller.count() > 300; }));
  polling.stop();                                                       // step 2
  const auto made = outbox.run("init", {"--backfill", "unprocessed"});  // step 3
  INFO(made.errors);
  REQUIRE(made.status == 0);
  RelayProcess relay(outbox.configuration());  // step 4
  REQUIRE(relay.wait_ready());
  inserts.stop();
  CHECK(outbox.wait_drained());
  check_each_row_came_once(outbox, poller);
}

TEST_CASE("a polling relay that takes over again misses no row and publishes none twice") {
  OutboxCase outbox;
  make_outbox(outbox);
  outbox.init();
  PgSession service(outbox.database().dsn());
  Background inserts([&] { insert_some(service); });
  const auto count = [&](const std::string& state) {
    return std::stoi(outbox.database().value("SELECT count(*) FROM outbox WHERE processed_at " + state));
  };
  RelayProcess relay(outbox.configuration());
  REQUIRE(wait_until(seconds(30), [&] { return count("IS NOT NULL") > 300; }));
  CHECK(relay.stop() == ExitStatus{143, 0});  // step 1
  Poller poller(outbox.database().dsn());     // step 3
  Background polling([&] { poller.poll(); });
  REQUIRE(wait_until(seconds(30), [&] { return poller.count() > 300; }));
  inserts.stop();
  REQUIRE(wait_until(seconds(30), [&] { return count("IS NULL") == 0; }));
  polling.stop();
  check_each_row_came_once(outbox, poller);
}

}  // namespace
}  // namespace walrelay::test
