// `walrelay init --backfill`: rows from before the slot.

#include <fmt/format.h>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/outbox_case.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

using Record = std::tuple<std::optional<std::string>, std::optional<std::string>,
                          std::vector<std::pair<std::string, std::optional<std::string>>>, std::int64_t>;

std::vector<Record> contents(const std::string& topic) {
  std::vector<Record> records;
  for (auto& record : OutboxCase::records(topic)) {
    records.emplace_back(record.key, record.value, record.headers, record.timestamp_ms);
  }
  return records;
}

// The same table, read by two slots into two topics: `streamed` existed before the rows, `table` does after them.
struct TwoWays {
  OutboxCase outbox;
  std::string columns;

  [[nodiscard]] std::vector<std::string> flags(const std::string& way) const {
    return {"--slot", outbox.name() + "_" + way, "--set", "outbox.0.topic=" + outbox.name() + "." + way};
  }
  void run(const std::string& command, std::vector<std::string> arguments, const std::string& way) {
    for (auto& flag : flags(way)) arguments.push_back(std::move(flag));
    const auto result = outbox.run(command, arguments);
    INFO(result.errors);
    REQUIRE(result.status == 0);
  }
};

TEST_CASE("a row that is read from the table becomes the record that the stream makes of it, byte for byte") {
  TwoWays ways;
  auto& outbox = ways.outbox;
  outbox.exec("CREATE DOMAIN raw AS bytea; CREATE TYPE mood AS ENUM ('glad', 'so so')");
  outbox.exec(
      "CREATE TABLE outbox (id bigint PRIMARY KEY, at timestamptz, b bytea, r raw, j jsonb, t timestamp, i interval, "
      "d double precision, m mood, a text[], n numeric, o boolean, c char(5), g int GENERATED ALWAYS AS (1) STORED)");
  // What the role or the database say must not matter to either way.
  outbox.exec(fmt::format("ALTER DATABASE {} SET timezone = 'Asia/Kolkata'", outbox.name()));
  outbox.exec(fmt::format("ALTER DATABASE {} SET bytea_output = 'escape'", outbox.name()));
  outbox.exec(fmt::format("ALTER DATABASE {} SET datestyle = 'German'", outbox.name()));
  outbox.exec(fmt::format("ALTER DATABASE {} SET statement_timeout = '3s'", outbox.name()));
  std::string headers;
  for (const char column : std::string("rjtidmanoc")) headers += fmt::format("{0} = \"{{{0}}}\", ", column);
  headers.resize(headers.size() - 2);
  outbox.add_outbox(
      "table = \"public.outbox\"\nid = \"{id}\"\ntopic = \"x\"\nkey = \"{j/k}\"\nvalue = \"{b}\"\n"
      "timestamp = \"{at}\"\nheaders = { " +
      headers + ", at = \"{at}\" }");
  ways.run("init", {}, "streamed");
  outbox.exec(
      R"(INSERT INTO outbox VALUES (1, '2024-02-29 12:00:00.123456+05:30', '\x00ff5c', '\x00ff', '{"k": "Zoë", "x": 1.10}',
      '2024-02-29 12:00:00', '1 mon 2 days 03:04:05.678', 0.1, 'so so', '{a,NULL,"b c"}', 1.10, true, 'x'))");
  outbox.exec("INSERT INTO outbox (id, at, j) VALUES (2, '2024-02-29 12:00:01+00', '{}')");
  outbox.exec("INSERT INTO outbox (id, at, b) VALUES (3, '2024-02-29 12:00:02+00', '')");
  ways.run("run", {"--drain"}, "streamed");
  ways.run("init", {"--backfill", "all"}, "table");
  const auto streamed = contents(outbox.name() + ".streamed");
  REQUIRE(streamed.size() == 3);
  CHECK(contents(outbox.name() + ".table") == streamed);
}

TEST_CASE("with rows inserted all the time, each comes once: from the table or from the slot", "[versions]") {
  TestDatabase database;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), shared_kafka());
  database.exec("SELECT pg_drop_replication_slot(current_database())");
  outbox.insert(2000);
  Background writer([&] { outbox.insert(5); });
  const auto made = walrelay_command({"init", "--backfill", "all"}, outbox.configuration());
  INFO(made.errors);
  REQUIRE(made.status == 0);
  CHECK_THAT(made.errors, ContainsSubstring("rows published"));
  CHECK_THAT(made.errors, ContainsSubstring("made slot"));
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  writer.stop();
  CHECK(outbox.wait_confirmed());
  const auto comparison = outbox.compare();
  INFO(comparison.text());
  CHECK(comparison.exact());
}

TEST_CASE("unprocessed takes the rows that nobody has published, since=TIME those from then on") {
  OutboxCase outbox;
  outbox.exec(
      "CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), occurred_at timestamptz, type text, "
      "payload jsonb, processed_at timestamptz)");
  outbox.exec(
      "INSERT INTO outbox (occurred_at, type, payload, processed_at) SELECT timestamptz '2024-01-01 00:00:00+00' + g * "
      "interval '1 hour', 'T', to_jsonb(g), CASE WHEN g % 2 = 0 THEN now() END FROM generate_series(1, 10) g");
  outbox.add_outbox("table = \"public.outbox\"\npreset = \"standard\"\nprocessed_at = \"processed_at\"\ntopic = \"" +
                    outbox.name() + "\"");
  const auto unprocessed = outbox.run("init", {"--backfill", "unprocessed"});
  INFO(unprocessed.errors);
  REQUIRE(unprocessed.status == 0);
  CHECK_THAT(unprocessed.output, ContainsSubstring("processed_at = \"processed_at\""));
  CHECK(OutboxCase::values(outbox.name()) == std::vector<std::string>{"1", "3", "5", "7", "9"});

  const auto since = outbox.run("init", {"--backfill", "since=2024-01-01 09:00:00", "--slot", outbox.name() + "_2",
                                         "--set", "outbox.0.topic=" + outbox.name() + ".since"});
  INFO(since.errors);
  REQUIRE(since.status == 0);
  CHECK(OutboxCase::values(outbox.name() + ".since") == std::vector<std::string>{"9", "10"});
}

TEST_CASE("the rows of partitions and of several tables are published") {
  OutboxCase outbox;
  outbox.exec(
      "CREATE TABLE parted (id int, occurred_at timestamptz, type text, payload jsonb) PARTITION BY RANGE (id)");
  outbox.exec("CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (5)");
  outbox.exec("CREATE TABLE high PARTITION OF parted FOR VALUES FROM (5) TO (10)");
  outbox.exec("CREATE TABLE \"Other\" (\"Id\" uuid, \"Type\" text, \"Payload\" jsonb, \"OccurredAt\" timestamptz)");
  outbox.exec(
      "INSERT INTO parted SELECT g, now() + g * interval '1 s', 'T', to_jsonb(g) FROM generate_series(9, 0, -1) g");
  outbox.exec("INSERT INTO \"Other\" VALUES (gen_random_uuid(), 'T', '\"other\"', now())");
  for (const auto& [table, preset] : {std::pair("public.parted", "standard"), std::pair("public.Other", "pascal")}) {
    outbox.add_outbox(fmt::format("table = \"{}\"\npreset = \"{}\"\ntopic = \"{}\"", table, preset, outbox.name()));
  }
  const auto made = outbox.run("init", {"--backfill", "all"});
  INFO(made.errors);
  REQUIRE(made.status == 0);
  CHECK(OutboxCase::values(outbox.name()) ==
        std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "\"other\""});
}

TEST_CASE("memory is bounded by what is in flight, not by the table") {
  OutboxCase outbox;
  create_topic(shared_kafka(), outbox.name());
  outbox.exec(
      "CREATE TABLE outbox (id int PRIMARY KEY, occurred_at timestamptz DEFAULT now(), type text DEFAULT 'T', payload "
      "text)");
  outbox.exec("INSERT INTO outbox (id, payload) SELECT g, repeat('x', 400000) FROM generate_series(1, 150) g");
  outbox.add_outbox("table = \"public.outbox\"\npreset = \"standard\"\ntopic = \"" + outbox.name() + "\"");
  outbox.add_settings("[delivery]\nmax_in_flight_bytes = \"4MiB\"");
  const TempDir directory;
  write_file(directory.file("walrelay.toml"), outbox.configuration());
  Process init(walrelay_program(), {"init", "--backfill", "all", "-c", directory.file("walrelay.toml")});
  std::size_t peak = 0;
  const bool ended = wait_until(seconds(60), [&] {
    peak = std::max(peak, init.peak_resident_bytes());
    return !init.running();
  });
  REQUIRE(ended);
  CHECK(init.wait(seconds(1)) == ExitStatus{0, 0});
  CHECK(peak < std::size_t{48} << 20U);
  CHECK(OutboxCase::records(outbox.name()).size() == 150);
}

}  // namespace
}  // namespace walrelay::test
