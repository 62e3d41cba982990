// What the other integration tests stand on.

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/kafka_client.h"
#include "tests/support/postgres_server.h"
#include "tests/support/process.h"
#include "tests/support/relay_process.h"
#include "tests/support/shared_servers.h"
#include "tests/support/topic_reader.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

void produce(const std::string& broker, const std::string& topic, int partition, const char* key, const char* value) {
  const auto producer = kafka_client(RD_KAFKA_PRODUCER, broker);
  rd_kafka_headers_t* headers = rd_kafka_headers_new(2);
  rd_kafka_header_add(headers, "a", -1, "1", -1);
  rd_kafka_header_add(headers, "b", -1, nullptr, 0);
  const std::size_t key_size = key == nullptr ? 0 : std::string_view(key).size();
  const std::size_t value_size = value == nullptr ? 0 : std::string_view(value).size();
  const auto error = rd_kafka_producev(
      producer.get(), RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_KEY(key, key_size),
      RD_KAFKA_V_VALUE(const_cast<char*>(value), value_size), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
      RD_KAFKA_V_TIMESTAMP(1'700'000'000'123), RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
  REQUIRE(error == RD_KAFKA_RESP_ERR_NO_ERROR);
  REQUIRE(rd_kafka_flush(producer.get(), 10'000) == RD_KAFKA_RESP_ERR_NO_ERROR);
}

TEST_CASE("a process's output, exit status and signal are seen") {
  const auto result = run_command("sh", {"-c", "echo out; echo $WORD >&2; exit 3"}, {.environment = {{"WORD", "err"}}});
  CHECK(result.status == 3);
  CHECK(result.output == "out\n");
  CHECK(result.errors == "err\n");

  Process sleeper("sleep", {"60"});
  CHECK(sleeper.resident_bytes() > 0);
  CHECK_FALSE(sleeper.wait(milliseconds(0)));
  sleeper.signal(SIGTERM);
  CHECK(sleeper.wait(seconds(5)) == ExitStatus{-1, SIGTERM});
  CHECK_THROWS_WITH(Process("/no/such/program", {}), ContainsSubstring("No such file"));
}

TEST_CASE("a process does not outlive the one that started it, however that ends") {
  const TempDir directory;
  const pid_t starter = fork();
  if (starter == 0) {
    setenv("TMPDIR", directory.path().c_str(), 1);  // what is left of it goes with ours
    const Process sleeper("sleep", {"60"});
    write_file(directory.file("new"), std::to_string(sleeper.pid()));
    std::filesystem::rename(directory.file("new"), directory.file("pid"));
    pause();
  }
  REQUIRE(wait_until(seconds(5), [&] { return std::filesystem::exists(directory.file("pid")); }));
  const pid_t sleeper = std::stoi(read_file(directory.file("pid")));
  CHECK(kill(sleeper, 0) == 0);
  kill(starter, SIGKILL);
  waitpid(starter, nullptr, 0);
  // Nobody may be there to reap it: a zombie has no command line.
  const auto command_line = "/proc/" + std::to_string(sleeper) + "/cmdline";
  CHECK(wait_until(seconds(5), [&] { return read_file(command_line).empty(); }));
}

TEST_CASE("a server of its own keeps data and port over stop, crash and restart") {
  PostgresServer server(ServerSettings{{"wal_sender_timeout", "5s"}});
  CHECK(server.value("SHOW wal_sender_timeout") == "5s");
  CHECK(server.value("SHOW wal_level") == "logical");
  CHECK(server.version() >= 13);
  const auto port = server.port();
  server.exec("CREATE TABLE t (x int); INSERT INTO t VALUES (1)");
  server.restart();
  server.exec("INSERT INTO t VALUES (2)");
  server.crash();
  server.start();
  CHECK(server.port() == port);
  CHECK(server.query("SELECT x FROM t ORDER BY x") == PgRows{{"1"}, {"2"}});
  CHECK_THAT(server.log(), ContainsSubstring("was not properly shut down"));
  server.set("work_mem", "12MB");
  CHECK(wait_until(seconds(5), [&] { return server.value("SHOW work_mem") == "12MB"; }));
  CHECK(PgSession(server.tcp_dsn()).value("SELECT NULL") == "");
  CHECK(server.stop(StopMode::immediate) < seconds(10));
}

TEST_CASE("a test database on the shared server goes away with its slots") {
  std::string name;
  {
    TestDatabase database;
    name = database.name();
    database.exec("SELECT pg_create_logical_replication_slot('" + name + "', 'pgoutput')");
    CHECK(database.value("SELECT current_database()") == name);
  }
  PgSession server(shared_postgres());
  CHECK(server.value("SELECT count(*) FROM pg_replication_slots WHERE slot_name = '" + name + "'") == "0");
  CHECK(server.value("SELECT count(*) FROM pg_database WHERE datname = '" + name + "'") == "0");
}

TEST_CASE("a topic's records are read whole and in order, nulls included") {
  const auto topic = unique_name();
  create_topic(shared_kafka(), topic, 2, {{"retention.ms", "3600000"}});
  CHECK_THROWS_WITH(create_topic(shared_kafka(), topic), ContainsSubstring("exists"));
  produce(shared_kafka(), topic, 1, "k", "first");
  produce(shared_kafka(), topic, 1, nullptr, nullptr);
  produce(shared_kafka(), topic, 0, "", "");

  const auto records = TopicReader(shared_kafka(), topic).read_to_end();
  REQUIRE(records.size() == 3);
  const auto first = std::find_if(records.begin(), records.end(), [](const auto& r) { return r.value == "first"; });
  REQUIRE(first != records.end());
  CHECK(first->partition == 1);
  CHECK(first->offset == 0);
  CHECK(first->key == "k");
  CHECK(first->timestamp_ms == 1'700'000'000'123);
  CHECK(first->headers ==
        std::vector<std::pair<std::string, std::optional<std::string>>>{{"a", "1"}, {"b", std::nullopt}});
  CHECK(first->header("a") == "1");
  const auto null = std::find_if(records.begin(), records.end(), [](const auto& r) { return !r.key; });
  REQUIRE(null != records.end());
  CHECK_FALSE(null->value);
  CHECK(null->offset == 1);

  TopicReader reader(shared_kafka(), topic);
  CHECK(reader.read(3).size() == 3);
  CHECK(reader.read(1, milliseconds(100)).empty());
  CHECK(reader.read_to_end().empty());
}

TEST_CASE("a broker of its own keeps data and address over pause, kill and restart") {
  KafkaBroker broker;
  const auto address = broker.address();
  create_topic(address, "kept", 1);
  produce(address, "kept", 0, "k", "v");
  broker.pause();
  CHECK(broker.running());
  broker.resume();
  broker.kill();
  CHECK_FALSE(broker.running());
  broker.start();
  CHECK(broker.address() == address);
  const auto records = TopicReader(address, "kept").read(1);
  REQUIRE(records.size() == 1);
  CHECK(records[0].value == "v");
  broker.stop();
}

TEST_CASE("a relay is asked over HTTP on the port that its log names") {
  TestDatabase database;
  const std::string configuration = fmt::format(
      "[postgres]\ndsn = \"{}\"\nslot = \"{}\"\n[[outbox]]\ntable = \"public.outbox\"\npreset = "
      "\"standard\"\ntopic = \"{}\"\n[sink]\ntype = \"stdout\"\n",
      database.dsn(), database.name(), database.name());
  const auto init = walrelay_command({"init"}, configuration);
  INFO(init.errors);
  REQUIRE(init.status == 0);

  RelayProcess relay(configuration);
  INFO(relay.log());
  REQUIRE(relay.wait_ready());
  CHECK(relay.metric("walrelay_active") == 1.0);
  CHECK(relay.metric("walrelay_events_total", {{"result", "delivered"}}) == 0.0);
  CHECK_FALSE(relay.metric("walrelay_no_such_metric"));
  CHECK_THAT(relay.get("/status").body, ContainsSubstring(database.name()));

  database.exec("INSERT INTO outbox (type, payload) VALUES ('Greeting', '{\"to\": \"all\"}')");
  CHECK(wait_until(seconds(10), [&] { return relay.process().output().find("\"to\"") != std::string::npos; }));
  CHECK(relay.process().resident_bytes() > 0);
  CHECK(relay.stop() == ExitStatus{143, 0});
}

}  // namespace
}  // namespace walrelay::test
