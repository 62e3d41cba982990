// Old rows and partitions go, once they are published, and only from the instance that streams.

#include <fmt/format.h>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/outbox_case.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr const char* kColumns =
    "(id uuid DEFAULT gen_random_uuid(), occurred_at timestamptz NOT NULL, type text DEFAULT 'T', payload jsonb";

// An outbox "outbox" whose rows go to one topic.
class AgedOutbox {
 public:
  explicit AgedOutbox(const std::string& retention) {
    box_.exec(fmt::format("CREATE TABLE outbox {}, PRIMARY KEY (id)); CREATE INDEX ON outbox (occurred_at)", kColumns));
    add("outbox", retention);
  }

  void add(const std::string& table, const std::string& retention) {
    box_.add_outbox(
        fmt::format("table = 'public.{}'\npreset = 'standard'\ntopic = '{}'\nkey = '{{payload}}'\n"
                    "[outbox.retention]\n{}\n",
                    table, topic(), retention));
  }

  [[nodiscard]] OutboxCase& box() { return box_; }
  [[nodiscard]] std::string topic() const { return box_.name(); }

  // In one transaction.
  void insert(int count, const std::string& age, const std::string& table = "outbox") {
    box_.exec(fmt::format(
        "INSERT INTO {} (occurred_at, payload) SELECT now() - interval '{}', to_jsonb(i) FROM generate_series(1, {}) i",
        table, age, count));
    inserted_ += static_cast<std::size_t>(count);
  }
  [[nodiscard]] int rows(const std::string& table = "outbox") {
    return std::stoi(box_.database().value("SELECT count(*) FROM " + table));
  }
  [[nodiscard]] bool wait_rows(int count, const std::string& table = "outbox") {
    return wait_until(seconds(30), [&] { return rows(table) == count; });
  }
  // Every row that was ever inserted, once, and nothing else.
  [[nodiscard]] bool published_all() {
    if (!box_.wait_drained()) return false;
    return OutboxCase::records(topic()).size() == inserted_;
  }

 private:
  OutboxCase box_;
  std::size_t inserted_ = 0;
};

double deleted_by(RelayProcess& relay, const std::string& table = "public.outbox") {
  return relay.metric("walrelay_retention_deleted_rows_total", {{"outbox", table}}).value_or(-1);
}

// The rows are gone a moment before the relay has heard of it.
bool wait_deleted(RelayProcess& relay, int rows) {
  return wait_until(seconds(5), [&] { return deleted_by(relay) == rows; });
}

bool check_ready(RelayProcess& relay) {
  const bool ready = relay.wait_ready();
  INFO(relay.log());
  CHECK(ready);
  return ready;
}

TEST_CASE("published rows older than keep are deleted, younger ones stay, and no event comes of it", "[versions]") {
  AgedOutbox outbox("keep = '1d'\ninterval = '1s'");
  outbox.box().init();
  outbox.insert(2500, "2 days");
  outbox.insert(40, "23 hours");
  RelayProcess relay(outbox.box().configuration());
  REQUIRE(check_ready(relay));
  const bool bounded = outbox.wait_rows(40);
  INFO(relay.log());
  CHECK(bounded);
  CHECK(wait_deleted(relay, 2500));
  CHECK(wait_until(seconds(5), [&] {
    return relay.metric("walrelay_retention_last_run_timestamp_seconds", {{"outbox", "public.outbox"}}) > 1e9;
  }));
  CHECK(relay.metric("walrelay_retention_errors_total") == 0.0);
  outbox.insert(10, "25 hours");
  CHECK(outbox.wait_rows(40));
  CHECK(outbox.published_all());
}

TEST_CASE("an old row that is not published stays until the broker has it") {
  KafkaBroker broker;
  AgedOutbox outbox("keep = '1d'\ninterval = '1s'");
  outbox.box().set_sink(fmt::format("[sink.kafka]\n\"bootstrap.servers\" = \"{}\"\n", broker.address()));
  outbox.box().init();
  RelayProcess relay(outbox.box().configuration());
  REQUIRE(check_ready(relay));
  broker.pause();
  outbox.insert(10, "2 days");
  // Its connection waits, the rows chosen.
  const std::string chosen = fmt::format(
      "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND query LIKE '%) oldest) %' AND state = 'idle' AND "
      "pid <> pg_backend_pid()",
      outbox.box().name());
  const bool waits = wait_until(seconds(20), [&] { return outbox.box().database().value(chosen) == "1"; });
  INFO(relay.log());
  CHECK(waits);
  std::this_thread::sleep_for(seconds(1));  // nothing is to happen
  CHECK(outbox.rows() == 10);
  CHECK(deleted_by(relay) == 0);
  broker.resume();
  CHECK(outbox.wait_rows(0));
  CHECK(TopicReader(broker.address(), outbox.topic()).read_to_end().size() == 10);
}

TEST_CASE("an old row whose event was passed over stays, where the table tells it") {
  const bool marks = GENERATE(true, false);
  AgedOutbox outbox("keep = '1d'\ninterval = '1s'");
  outbox.box().exec("ALTER TABLE outbox ADD processed_at timestamptz, ADD error text");
  outbox.box().init();
  RelayProcess relay(outbox.box().configuration(),
                     {"--set", marks ? "outbox.0.processed_at=processed_at" : "outbox.0.error=error", "--set",
                      "outbox.0.topic={type}", "--set", "delivery.on_error=skip"});
  REQUIRE(check_ready(relay));
  create_topic(shared_kafka(), outbox.topic());
  outbox.box().exec(
      fmt::format("INSERT INTO outbox (type, occurred_at) SELECT CASE i WHEN 3 THEN 'no topic!' ELSE '{}' "
                  "END, now() - interval '2 days' FROM generate_series(1, 5) i",
                  outbox.topic()));
  const bool bounded = outbox.wait_rows(1);
  INFO(relay.log());
  CHECK(bounded);
  CHECK(wait_deleted(relay, 4));
  outbox.box().exec("UPDATE outbox SET processed_at = now(), error = NULL");
  CHECK(outbox.wait_rows(0));
}

TEST_CASE("max_rows leaves the newest rows, to the row, also where all have one time") {
  AgedOutbox outbox("max_rows = 500\ninterval = '1s'\nbatch = 300");
  outbox.box().init();
  RelayProcess relay(outbox.box().configuration());
  REQUIRE(check_ready(relay));
  outbox.insert(3000, "8 days");
  const bool bounded = outbox.wait_rows(500);
  INFO(relay.log());
  CHECK(bounded);
  outbox.insert(400, "1 hour");
  CHECK(outbox.wait_rows(500));
  CHECK(outbox.box().database().value("SELECT count(*) FROM outbox WHERE occurred_at > now() - interval '1 day'") ==
        "400");
  CHECK(outbox.published_all());
}

TEST_CASE("of two relays only the one that streams deletes rows, and the other goes on when it ends") {
  AgedOutbox outbox("keep = '7d'\ninterval = '1s'");
  outbox.box().init();
  RelayProcess first(outbox.box().configuration());
  REQUIRE(check_ready(first));
  RelayProcess second(outbox.box().configuration());
  REQUIRE(check_ready(second));
  outbox.insert(1500, "8 days");
  outbox.insert(1500, "0 days");
  CHECK(outbox.wait_rows(1500));
  CHECK(wait_deleted(first, 1500));
  CHECK(deleted_by(second) == 0);
  CHECK_FALSE(second.metric("walrelay_retention_last_run_timestamp_seconds"));
  outbox.insert(700, "8 days");
  CHECK(first.stop().has_value());
  const bool went_on = outbox.wait_rows(1500);
  INFO(second.log());
  CHECK(went_on);
  CHECK(wait_until(seconds(5), [&] { return deleted_by(second) > 0 || outbox.rows() == 1500; }));
  CHECK(outbox.published_all());
}

TEST_CASE("old partitions are dropped instead of rows, beside a default partition its old rows deleted", "[versions]") {
  AgedOutbox outbox("keep = '1d'\ninterval = '1s'");
  auto& box = outbox.box();
  const auto partitioned = [&](const std::string& table) {
    box.exec(fmt::format("CREATE TABLE {} {}, PRIMARY KEY (id, occurred_at)) PARTITION BY RANGE (occurred_at)", table,
                         kColumns));
    const auto bound = [&](const char* age) {
      return box.database().value(fmt::format("SELECT now() - interval '{}'", age));
    };
    const auto part = [&](const char* name, const std::string& from, const std::string& to) {
      box.exec(fmt::format("CREATE TABLE {0}_{1} PARTITION OF {0} FOR VALUES FROM ('{2}') TO ('{3}')", table, name,
                           from, to));
    };
    const auto oldest = bound("9 days"), old = bound("5 days"), young = bound("12 hours"), future = bound("-9 days");
    part("oldest", oldest, old);
    part("old", old, young);
    part("young", young, future);
    outbox.add(table, "keep = '1d'\ninterval = '1s'");
  };
  partitioned("days");
  partitioned("days_and_rest");
  box.exec("CREATE TABLE rest PARTITION OF days_and_rest DEFAULT");
  box.init();
  for (const auto* table : {"days", "days_and_rest"}) {
    outbox.insert(30, "6 days", table);
    outbox.insert(20, "3 days", table);
    outbox.insert(10, "1 minute", table);
  }
  outbox.insert(5, "20 days", "days_and_rest");
  RelayProcess relay(box.configuration());
  REQUIRE(check_ready(relay));
  const auto gone = [&](const std::string& table) {
    return box.database().value(fmt::format("SELECT to_regclass('{}_oldest') IS NULL", table)) == "t";
  };
  const bool dropped = wait_until(seconds(30), [&] { return gone("days") && gone("days_and_rest"); });
  INFO(relay.log());
  CHECK(dropped);
  CHECK(outbox.wait_rows(30, "days_and_rest"));
  CHECK(outbox.rows("days") == 30);  // a partition with room for younger rows stays whole
  for (const auto* table : {"public.days", "public.days_and_rest"}) {
    CHECK(wait_until(seconds(5), [&] {
      return relay.metric("walrelay_retention_dropped_partitions_total", {{"outbox", table}}) == 1.0;
    }));
  }
  CHECK(deleted_by(relay, "public.days") == 0);
  CHECK(wait_until(seconds(5), [&] { return deleted_by(relay, "public.days_and_rest") == 5; }));
  CHECK(relay.metric("walrelay_retention_errors_total") == 0.0);
  CHECK(outbox.published_all());
}

// A role of the shared server, gone with the object.
class Role {
 public:
  Role(PgSession& session, std::string name) : session_(session), name_(std::move(name)) {
    session_.exec(fmt::format("CREATE ROLE {} LOGIN REPLICATION", name_));
  }
  ~Role() { session_.exec(fmt::format("DROP OWNED BY {0}; DROP ROLE {0}", name_)); }
  Role(const Role&) = delete;
  Role& operator=(const Role&) = delete;

 private:
  PgSession& session_;
  std::string name_;
};

TEST_CASE(
    "without the right to delete the remedy is told, delivery goes on, and so does retention once it is granted") {
  AgedOutbox outbox("keep = '1d'\ninterval = '1s'");
  auto& box = outbox.box();
  const auto name = box.name() + "_relay";
  const Role role(box.database().session(), name);
  box.init();
  box.set_dsn(box.database().dsn() + " user=" + name);
  outbox.insert(20, "2 days");
  const auto grant = fmt::format("GRANT SELECT, DELETE ON \"public\".\"outbox\" TO \"{}\";", name);
  const auto found = box.run("check");
  CHECK(found.status == 1);
  CHECK_THAT(found.output,
             ContainsSubstring("retention: retention of table \"public.outbox\"") && ContainsSubstring(grant));
  {
    RelayProcess relay(box.configuration());
    REQUIRE(check_ready(relay));
    CHECK(wait_until(seconds(15), [&] { return relay.metric("walrelay_retention_errors_total") >= 2.0; }));
    CHECK_THAT(relay.log(), ContainsSubstring("retention_failed") && ContainsSubstring(grant));
    CHECK(count_of(relay.log(), "retention_failed") == 1);
    CHECK(outbox.published_all());
    CHECK(outbox.rows() == 20);
    box.exec(grant);
    CHECK(outbox.wait_rows(0));
    CHECK(wait_until(seconds(5), [&] { return count_of(relay.log(), "retention_resumed") == 1; }));
  }
  CHECK_THAT(box.run("check").output,
             ContainsSubstring("published rows of \"public.outbox\" that are older than 24h are deleted"));
  box.exec("DROP INDEX outbox_occurred_at_idx");
  CHECK_THAT(box.run("check").output,
             ContainsSubstring("CREATE INDEX CONCURRENTLY ON \"public\".\"outbox\" (\"occurred_at\")"));
}

TEST_CASE("init grants the role that it makes what retention needs") {
  AgedOutbox outbox("max_rows = 10");
  const auto printed = outbox.box().run("init", {"--print", "--role", "Janitor_" + outbox.topic()});
  CHECK(printed.status == 0);
  CHECK_THAT(printed.output, ContainsSubstring("GRANT SELECT, DELETE ON \"public\".\"outbox\" TO \"Janitor_"));
}

}  // namespace
}  // namespace walrelay::test
