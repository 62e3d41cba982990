// The progress record: what a server forgets in a crash is not published again, and a gap is never hidden.

#include <fmt/format.h>

#include <csignal>
#include <filesystem>

#include "connector/progress_record.h"
#include "sinks/kafka_admin.h"
#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/shared_servers.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

// A server, an outbox on it, and a progress topic of its own.
class RecordedOutbox {
 public:
  RecordedOutbox() { outbox_.insert(kRows); }

  static constexpr std::size_t kRows = 50;

  [[nodiscard]] PostgresServer& server() { return server_; }
  [[nodiscard]] Outbox& outbox() { return outbox_; }
  [[nodiscard]] const std::string& slot() const { return outbox_.name(); }
  [[nodiscard]] std::string progress_topic() const { return outbox_.name() + ".progress"; }
  [[nodiscard]] std::string configuration() const {
    return outbox_.configuration("progress_topic = \"" + progress_topic() + "\"");
  }

  // Runs a relay until the slot has confirmed everything, and ends it in order.
  void deliver_all() {
    RelayProcess relay(configuration());
    const bool confirmed = relay.wait_ready() && outbox_.wait_confirmed();
    INFO(relay.log());
    REQUIRE(confirmed);
    REQUIRE(relay.stop() == ExitStatus{143, 0});
  }

  void drop_slot() { outbox_.session().exec(fmt::format("SELECT pg_drop_replication_slot('{}')", slot())); }
  void make_slot() {
    outbox_.session().exec(fmt::format("SELECT pg_create_logical_replication_slot('{}', 'pgoutput')", slot()));
  }

  // The log of a relay that has to end by itself with 5, naming `reason`.
  std::string gap(const std::string& reason) {
    RelayProcess relay(configuration());
    const auto ended = relay.process().wait(seconds(20));
    INFO(relay.log());
    CHECK(ended == ExitStatus{5, 0});
    CHECK_THAT(relay.log(), ContainsSubstring(reason) && ContainsSubstring("walrelay recover"));
    return relay.log();
  }

  [[nodiscard]] std::vector<ProgressRecord> records() const {
    std::vector<ProgressRecord> records;
    for (const auto& record : TopicReader(outbox_.broker(), progress_topic()).read_to_end()) {
      records.push_back(parse_progress(record.value.value_or("")).value());
    }
    return records;
  }

 private:
  PostgresServer server_;
  Outbox outbox_{server_.tcp_dsn(), server_.tcp_dsn(), unique_name(), shared_kafka()};
};

// A server on a copy of another's data directory, which has to be stopped meanwhile.
class CopiedData {
 public:
  explicit CopiedData(PostgresServer& server) : server_(server) {
    copy(server.data_directory(), directory_.file("data"));
  }
  void restore() {
    server_.stop(StopMode::immediate);
    copy(directory_.file("data"), server_.data_directory());
    server_.start();
  }

 private:
  static void copy(const std::string& from, const std::string& to) {
    std::filesystem::remove_all(to);
    const auto result = run_command("cp", {"-a", from, to});
    if (result.status != 0) throw std::runtime_error("cannot copy " + from + ": " + result.errors);
  }

  PostgresServer& server_;
  TempDir directory_;
};

TEST_CASE("what the record covers is not published again after a crash of server and relay, and the rest is") {
  RecordedOutbox recorded;
  auto& outbox = recorded.outbox();
  {
    RelayProcess relay(recorded.configuration());
    REQUIRE(relay.wait_ready());
    REQUIRE(outbox.wait_confirmed());
    outbox.session().exec("CHECKPOINT");  // the slot on disk stands here
    outbox.insert(500);
    REQUIRE(outbox.wait_confirmed());
    relay.process().signal(SIGKILL);
    REQUIRE(relay.process().wait(seconds(5)));
  }
  const Lsn confirmed = outbox.confirmed();
  recorded.server().crash();
  recorded.server().start();
  REQUIRE(outbox.confirmed() < confirmed);
  outbox.insert(20);
  RelayProcess relay(recorded.configuration());
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
  CHECK(outbox.wait_confirmed());
  CHECK_THAT(relay.log(), ContainsSubstring("progress_met") && ContainsSubstring("events=500"));
}

TEST_CASE("a relay that was overtaken goes on from the record, and not from what it knew") {
  constexpr auto kTimeout = seconds(2);
  PostgresServer server(ServerSettings{{"wal_sender_timeout", "2s"}});
  TcpProxy path(server.port());
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), shared_kafka());
  const auto configuration = outbox.configuration(fmt::format("progress_topic = \"{}.progress\"", outbox.name()));
  const auto dsn = fmt::format("postgres.dsn=host=127.0.0.1 port={} dbname=postgres user=postgres", path.port());
  RelayProcess overtaken(configuration, {"--set", dsn});
  INFO(overtaken.log());
  REQUIRE(overtaken.wait_ready());
  outbox.insert(50);
  REQUIRE(outbox.wait_confirmed());
  outbox.session().exec("CHECKPOINT");  // the slot on disk stands here
  {
    RelayProcess other(configuration);
    REQUIRE(other.wait_ready());
    path.freeze();
    REQUIRE(wait_until(5 * kTimeout, [&] { return count_of(other.log(), "streaming_started") == 1; }));
    REQUIRE(wait_until(5 * kTimeout, [&] { return count_of(overtaken.log(), "standby") == 1; }));
    outbox.insert(500);
    REQUIRE(outbox.wait_confirmed());
    other.process().signal(SIGKILL);
    server.crash();
  }
  server.start();
  CHECK(wait_until(seconds(20), [&] { return count_of(overtaken.log(), "streaming_started") == 2; }));
  outbox.insert(50);
  const auto comparison = outbox.compare();
  INFO(comparison.text());
  CHECK(comparison.exact());
  CHECK_THAT(overtaken.log(), ContainsSubstring("progress_met") && ContainsSubstring("events=500"));
}

TEST_CASE("the progress topic is made compacted, and a record comes before each confirmation") {
  RecordedOutbox recorded;
  recorded.deliver_all();
  CHECK_THAT(walrelay_command({"check"}, recorded.configuration()).output,
             ContainsSubstring("ok      progress: the slot fits its progress record"));
  const auto records = recorded.records();
  REQUIRE_FALSE(records.empty());
  CHECK(records.back().position >= recorded.outbox().confirmed());
  CHECK(records.back().slot == recorded.slot());
  CHECK(records.back().commit.has_value());
  CHECK(records.back().system_identifier ==
        recorded.server().value("SELECT system_identifier FROM pg_control_system()"));
  const std::vector<std::string> topic = {recorded.progress_topic()};
  const auto report = inspect_kafka({{"bootstrap.servers", shared_kafka()}}, topic, seconds(10));
  CHECK(report.topics.at(0).cleanup_policy == "compact");
  CHECK(report.topics.at(0).partitions == 1);
}

TEST_CASE("a slot that was made anew is a gap, until it is given another record") {
  RecordedOutbox recorded;
  recorded.deliver_all();
  recorded.drop_slot();
  recorded.outbox().insert(5);
  recorded.make_slot();
  const auto checked = walrelay_command({"check"}, recorded.configuration());
  CHECK(checked.status == 1);
  CHECK_THAT(checked.output, ContainsSubstring("error   progress: ") && ContainsSubstring("beyond what was delivered"));
  const auto log = recorded.gap("beyond what was delivered");
  CHECK_THAT(log, ContainsSubstring(recorded.outbox().confirmed().to_string()));
}

TEST_CASE("drop removes the record with the slot, so that a new slot of that name starts without a gap") {
  RecordedOutbox recorded;
  recorded.deliver_all();
  const auto dropped = walrelay_command({"drop", "--yes"}, recorded.configuration());
  INFO(dropped.errors);
  REQUIRE(dropped.status == 0);
  CHECK_THAT(dropped.errors, ContainsSubstring("removed the progress record"));
  recorded.outbox().session().exec(
      fmt::format("CREATE PUBLICATION {} FOR TABLE outbox WITH (publish = 'insert')", recorded.slot()));
  recorded.make_slot();
  recorded.outbox().insert(5);
  recorded.deliver_all();
  CHECK(recorded.outbox().compare().exact());
}

TEST_CASE("a slot that is gone ends the relay with what was delivered from it") {
  RecordedOutbox recorded;
  recorded.deliver_all();
  const auto delivered = recorded.records().back().position;
  recorded.drop_slot();
  const auto ended = walrelay_command({"run", "--set", "http.listen="}, recorded.configuration());
  CHECK(ended.status == 5);
  CHECK_THAT(ended.errors, ContainsSubstring("does not exist") &&
                               ContainsSubstring("events were delivered up to " + delivered.to_string()));
}

TEST_CASE("a slot that was moved past what was delivered is a gap") {
  RecordedOutbox recorded;
  recorded.deliver_all();
  recorded.outbox().insert(5);
  recorded.server().exec(
      fmt::format("SELECT pg_replication_slot_advance('{}', pg_current_wal_lsn())", recorded.slot()));
  static_cast<void>(recorded.gap("beyond what was delivered"));
}

TEST_CASE("a server that was set back to a backup is a gap") {
  RecordedOutbox recorded;
  recorded.deliver_all();
  recorded.server().stop();
  CopiedData backup(recorded.server());
  recorded.server().start();
  recorded.outbox().insert(20);
  recorded.deliver_all();
  backup.restore();
  static_cast<void>(recorded.gap("gone back in time"));
}

TEST_CASE("a restored copy that has gone its own way past what was delivered is a gap") {
  RecordedOutbox recorded;
  recorded.deliver_all();
  recorded.server().stop();
  CopiedData backup(recorded.server());
  recorded.server().start();
  recorded.outbox().insert(20);
  recorded.deliver_all();
  backup.restore();
  recorded.outbox().session().exec(
      "INSERT INTO outbox (type, payload) SELECT 'T', jsonb_build_object('k', 'other', 'n', g) FROM generate_series(1, "
      "2000) g");
  static_cast<void>(recorded.gap("restored copy"));
}

TEST_CASE("brokers that are away at the first start delay the record, and nothing else") {
  PostgresServer server;
  KafkaBroker broker;
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), broker.address());
  broker.stop();
  outbox.insert(20);
  RelayProcess relay(outbox.configuration());
  REQUIRE(wait_until(seconds(20), [&] { return count_of(relay.log(), "sink_away") > 0; }));
  CHECK_THAT(relay.get("/readyz").body, ContainsSubstring(broker.address()));
  broker.start();
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
  CHECK(outbox.wait_confirmed());
  CHECK_THAT(relay.log(), ContainsSubstring("no_progress_record"));
}

TEST_CASE("without a progress topic a slot that was made anew is streamed from where it stands") {
  TestDatabase database;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), shared_kafka());
  const auto deliver_all = [&] {
    outbox.insert(5);
    RelayProcess relay(outbox.configuration("progress_topic = \"\""));
    const bool confirmed = relay.wait_ready() && outbox.wait_confirmed();
    INFO(relay.log());
    REQUIRE(confirmed);
    REQUIRE(relay.stop() == ExitStatus{143, 0});
    CHECK_THAT(relay.log(), !ContainsSubstring("progress_record"));
  };
  deliver_all();
  database.exec(fmt::format("SELECT pg_drop_replication_slot('{}')", outbox.name()));
  outbox.insert(5);
  database.exec(fmt::format("SELECT pg_create_logical_replication_slot('{}', 'pgoutput')", outbox.name()));
  deliver_all();
  CHECK(outbox.compare(seconds(0)).missing == 5);
}

}  // namespace
}  // namespace walrelay::test
