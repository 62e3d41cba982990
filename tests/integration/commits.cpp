// Which rows are events: those whose transaction commits, whatever happens to them later; and of any size.

#include <fmt/format.h>

#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/outbox_case.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr std::size_t kMegabyte = 1'000'000;

// public.outbox (n, payload); n is the key; the topic is the case's name.
class NumberedOutbox : public OutboxCase {
 public:
  explicit NumberedOutbox(const std::string& payload_type = "text") {
    exec("CREATE TABLE outbox (n integer PRIMARY KEY, payload " + payload_type + ")");
    add_outbox(
        fmt::format("table = \"public.outbox\"\nid = \"{{n}}\"\ntopic = \"{}\"\nkey = \"{{n}}\"\n"
                    "value = \"{{payload}}\"",
                    name()));
  }

  // What has arrived in the topic, by key.
  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const auto& record : records(name())) keys.push_back(record.key.value_or("(null)"));
    return keys;
  }
};

std::vector<std::string> numbers(int first, int last) {
  std::vector<std::string> all;
  for (int i = first; i <= last; ++i) all.push_back(std::to_string(i));
  return all;
}

TEST_CASE("what a transaction, a savepoint or an EXCEPTION block rolls back never arrives") {
  NumberedOutbox outbox;
  outbox.init();
  outbox.exec("BEGIN; INSERT INTO outbox VALUES (100, 'rolled back'); ROLLBACK");
  outbox.exec(
      "BEGIN; INSERT INTO outbox VALUES (1, ''); SAVEPOINT a; INSERT INTO outbox VALUES (101, ''); SAVEPOINT b; "
      "INSERT INTO outbox VALUES (102, ''); RELEASE b; ROLLBACK TO a; INSERT INTO outbox VALUES (2, ''); COMMIT");
  outbox.exec(R"(DO $$ BEGIN
    INSERT INTO outbox VALUES (3, '');
    BEGIN
      INSERT INTO outbox VALUES (103, '');
      PERFORM 1 / 0;
    EXCEPTION WHEN division_by_zero THEN
      INSERT INTO outbox VALUES (4, '');
    END;
  END $$)");
  CHECK_THROWS(outbox.exec("INSERT INTO outbox VALUES (104, ''); SELECT 1 / 0"));
  outbox.exec("INSERT INTO outbox VALUES (5, '')");
  outbox.drain();
  CHECK(outbox.keys() == numbers(1, 5));
}

TEST_CASE("a prepared transaction arrives when it is committed, and never when it is rolled back") {
  PostgresServer server(ServerSettings{{"max_prepared_transactions", "3"}});
  server.exec("CREATE TABLE outbox (payload text)");
  const auto walrelay = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--dsn", server.dsn(), "--table", "public.outbox", "--sink", "stdout", "--set",
                      "outbox.0.topic=t", "--set", "outbox.0.value={payload}", "--set", "http.listen="});
    const auto result = walrelay_command(arguments);
    INFO(result.errors);
    CHECK(result.status == 0);
    return result.output;
  };
  walrelay({"init"});
  server.exec("BEGIN; INSERT INTO outbox VALUES ('kept'); PREPARE TRANSACTION 'kept'");
  server.exec("BEGIN; INSERT INTO outbox VALUES ('dropped'); PREPARE TRANSACTION 'dropped'");
  server.exec("INSERT INTO outbox VALUES ('between')");
  const auto before = walrelay({"run", "--drain"});
  CHECK_THAT(before, ContainsSubstring("between") && !ContainsSubstring("kept"));
  server.exec("COMMIT PREPARED 'kept'");
  server.exec("ROLLBACK PREPARED 'dropped'");
  const auto after = walrelay({"run", "--drain"});
  CHECK_THAT(after, ContainsSubstring("kept") && !ContainsSubstring("dropped") && !ContainsSubstring("between"));
}

// The server spools what exceeds its memory to its disk, and there it could mix up subtransactions.
TEST_CASE("a large transaction with rolled-back savepoints arrives without them", "[versions]") {
  NumberedOutbox outbox;
  outbox.init();
  outbox.exec(fmt::format("ALTER DATABASE \"{}\" SET logical_decoding_work_mem = '64kB'", outbox.name()));
  const auto insert = [](int first, int last) {
    return fmt::format("INSERT INTO outbox SELECT i, repeat('x', 300) FROM generate_series({}, {}) i;", first, last);
  };
  outbox.exec("BEGIN;" + insert(1, 500) + "SAVEPOINT s;" + insert(10'001, 10'500) + "ROLLBACK TO s;" +
              insert(501, 505) + "COMMIT");
  outbox.drain();
  CHECK(outbox.keys() == numbers(1, 505));
}

TEST_CASE("a spooled transaction that rolls back in blocks or as a whole gives nothing") {
  NumberedOutbox outbox;
  outbox.init();
  outbox.exec(fmt::format("ALTER DATABASE \"{}\" SET logical_decoding_work_mem = '64kB'", outbox.name()));
  outbox.exec(R"(DO $$ BEGIN
    INSERT INTO outbox SELECT i, repeat('x', 300) FROM generate_series(1, 500) i;
    BEGIN
      INSERT INTO outbox SELECT i, repeat('x', 300) FROM generate_series(10001, 10500) i;
      BEGIN
        INSERT INTO outbox SELECT i, repeat('x', 300) FROM generate_series(20001, 20500) i;
        PERFORM 1 / 0;
      EXCEPTION WHEN division_by_zero THEN
        INSERT INTO outbox SELECT i, repeat('x', 300) FROM generate_series(30001, 30500) i;
      END;
      PERFORM 1 / 0;
    EXCEPTION WHEN division_by_zero THEN
      INSERT INTO outbox SELECT i, repeat('x', 300) FROM generate_series(501, 505) i;
    END;
  END $$)");
  outbox.exec("BEGIN; INSERT INTO outbox SELECT i, repeat('x', 300) FROM generate_series(40001, 43000) i; ROLLBACK");
  outbox.exec("INSERT INTO outbox VALUES (506, 'last')");
  outbox.drain();
  CHECK(outbox.keys() == numbers(1, 506));
}

TEST_CASE("small transactions pass by a large one that is open, and nothing of that comes before its commit") {
  NumberedOutbox outbox;
  outbox.init();
  outbox.exec(fmt::format("ALTER DATABASE \"{}\" SET logical_decoding_work_mem = '64kB'", outbox.name()));
  RelayProcess relay(outbox.configuration());
  INFO(relay.log());
  PgSession large(outbox.database().dsn());
  const auto insert = [](int first, int last) {
    return fmt::format("INSERT INTO outbox SELECT i, repeat('x', 200) FROM generate_series({}, {}) i", first, last);
  };
  large.exec("BEGIN");
  large.exec(insert(11, 3'010));
  for (int n = 1; n <= 10; ++n) outbox.exec(fmt::format("INSERT INTO outbox VALUES ({}, 'small')", n));
  REQUIRE(outbox.wait_drained());
  CHECK(outbox.keys() == numbers(1, 10));
  large.exec(insert(3'011, 6'010));
  large.exec("COMMIT");
  REQUIRE(outbox.wait_drained());
  CHECK((outbox.keys() == numbers(1, 6'010)));
}

TEST_CASE("a row that its own transaction deletes is an event, and so is one of an emptied table") {
  NumberedOutbox outbox;
  outbox.init();
  outbox.exec("BEGIN; INSERT INTO outbox VALUES (1, 'here and gone'); DELETE FROM outbox; COMMIT");
  outbox.exec("BEGIN; INSERT INTO outbox VALUES (2, 'emptied'); TRUNCATE outbox; COMMIT");
  outbox.drain();
  CHECK(OutboxCase::values(outbox.name()) == std::vector<std::string>{"here and gone", "emptied"});
}

TEST_CASE("updates, deletes and truncations that a publication publishes are counted and ignored") {
  const auto identity = GENERATE(as<std::string>{}, "DEFAULT", "FULL");
  CAPTURE(identity);
  NumberedOutbox outbox;
  outbox.exec("ALTER TABLE outbox ALTER payload SET STORAGE EXTERNAL, ADD done boolean");
  outbox.exec("ALTER TABLE outbox REPLICA IDENTITY " + identity);
  outbox.exec(fmt::format("CREATE PUBLICATION \"{}\" FOR TABLE outbox", outbox.name()));
  outbox.init();
  outbox.exec("INSERT INTO outbox VALUES (1, repeat('stored outside ', 500))");  // 7.5 kB
  RelayProcess relay(outbox.configuration());
  outbox.exec("UPDATE outbox SET done = true");
  outbox.exec("DELETE FROM outbox");
  outbox.exec("TRUNCATE outbox");
  outbox.exec("INSERT INTO outbox VALUES (2, 'last')");
  INFO(relay.log());
  REQUIRE(outbox.wait_drained());
  CHECK(relay.metric("walrelay_events_total", {{"result", "ignored"}}) == 3.0);
  CHECK(relay.metric("walrelay_events_total", {{"result", "delivered"}}) == 2.0);

  const auto values = OutboxCase::values(outbox.name());
  REQUIRE(values.size() == 2);
  CHECK(values[0].size() == 7'500);
  CHECK(values[1] == "last");
  CHECK(relay.stop() == ExitStatus{143, 0});
}

TEST_CASE("payloads of a megabyte, compressed, stored outside or plain, arrive byte for byte") {
  NumberedOutbox outbox;
  create_topic(shared_kafka(), outbox.name(), 1, {{"max.message.bytes", "4000000"}});
  outbox.init();
  const auto noise = "(SELECT string_agg(md5(i::text || 'é'), 'ß') FROM generate_series(1, 30000) i)";
  outbox.exec("INSERT INTO outbox SELECT 1, repeat('0123456789', 100000)");  // compressed in the row
  outbox.exec(fmt::format("INSERT INTO outbox SELECT 2, {}", noise));        // compressed and outside
  outbox.exec("ALTER TABLE outbox ALTER payload SET STORAGE EXTERNAL");
  outbox.exec(fmt::format("INSERT INTO outbox SELECT 3, {}", noise));
  outbox.exec("INSERT INTO outbox VALUES (4, '')");
  outbox.drain();
  const auto values = OutboxCase::values(outbox.name());
  REQUIRE(values.size() == 4);
  CHECK(values[0].size() == kMegabyte);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto stored = outbox.database().value(fmt::format("SELECT payload FROM outbox WHERE n = {}", i + 1));
    CHECK((values[i] == stored));  // in parentheses: not printed
  }
}

TEST_CASE("a transaction of 100000 rows arrives in order, and memory does not grow with it") {
  NumberedOutbox outbox;
  outbox.init();
  RelayProcess relay(outbox.configuration());
  INFO(relay.log());
  const auto insert = [&](int first, int last) {
    outbox.exec(
        fmt::format("INSERT INTO outbox SELECT i, repeat('x', 500) FROM generate_series({}, {}) i", first, last));
    return outbox.wait_drained();
  };
  REQUIRE(insert(1, 25'000));
  const auto small = relay.process().peak_resident_bytes();
  REQUIRE(insert(25'001, 125'000));
  const auto large = relay.process().peak_resident_bytes();
  CHECK(large < 100 * kMegabyte);
  CHECK(large < small + 30 * kMegabyte);  // the rows are 50 MB
  CHECK((outbox.keys() == numbers(1, 125'000)));
  CHECK(relay.stop() == ExitStatus{143, 0});
}

}  // namespace
}  // namespace walrelay::test
