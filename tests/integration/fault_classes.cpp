// What a broker can answer to an event, through the whole program: librdkafka's mock cluster gives the answers.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <map>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/mock_cluster.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

// An outbox whose rows go to the topic "events" of a mock cluster.
class MockedOutbox {
 public:
  explicit MockedOutbox(int partitions = 1, int brokers = 1) : partitions_(partitions), cluster_(brokers) {
    cluster_.create_topic("events", partitions);
    cluster_.create_topic("letters", 1);
    database_.exec(
        "CREATE TABLE outbox (id text PRIMARY KEY, occurred_at timestamptz DEFAULT now(), type text NOT NULL, payload "
        "jsonb NOT NULL)");
    database_.exec(fmt::format("CREATE PUBLICATION {} FOR TABLE outbox WITH (publish = 'insert')", name()));
    database_.exec(fmt::format("SELECT pg_create_logical_replication_slot('{}', 'pgoutput')", name()));
  }

  // `mapping`: instead of the preset's with the topic "events".
  [[nodiscard]] std::string configuration(const std::string& delivery, const std::string& mapping = "") const {
    const std::string usual = "preset = \"standard\"\ntopic = \"events\"\nkey = \"{payload/k}\"\n";
    return fmt::format(
        "[postgres]\ndsn = \"{0}\"\nslot = \"{1}\"\npublication = \"{1}\"\n"
        "[[outbox]]\ntable = \"public.outbox\"\n{2}[sink.kafka]\n\"bootstrap.servers\" = \"{3}\"\n"
        "[delivery]\nprogress_topic = \"\"\ndead_letter_topic = \"letters\"\n{4}\n",
        database_.dsn(), name(), mapping.empty() ? usual : mapping, cluster_.bootstrap_servers(), delivery);
  }

  // Rows 1..count in transactions of `at_once`, as key k0..k6 and payload n.
  void insert(int count, int at_once = 1) {
    for (int done = 0; done < count; done += at_once) {
      database_.exec(
          fmt::format("INSERT INTO outbox (id, type, payload) SELECT 'row ' || g, 'T', jsonb_build_object('k', 'k' || "
                      "g % 7, 'n', g) "
                      "FROM generate_series({}, {}) g",
                      rows_ + 1, rows_ + at_once));
      rows_ += at_once;
    }
  }

  void insert_row(const std::string& id, const std::string& key) {
    database_.exec(
        fmt::format("INSERT INTO outbox (id, type, payload) VALUES ('{}', 'T', '{{\"k\": \"{}\"}}')", id, key));
  }

  // How the topic differs from rows 1..n each with its first delivery in the order of its key; "" if it does not.
  [[nodiscard]] std::string differences() const {
    std::map<std::string, int> last_of_key;
    std::vector<bool> seen(static_cast<std::size_t>(rows_) + 1);
    for (const auto& record : read_topic(cluster_.bootstrap_servers(), "events", partitions_)) {
      const int n = std::stoi(record.headers.at(0).second.value().substr(4));
      if (seen.at(static_cast<std::size_t>(n))) continue;
      seen.at(static_cast<std::size_t>(n)) = true;
      int& last = last_of_key[record.key.value()];
      if (n < last) return fmt::format("row {} first came after row {} of its key", n, last);
      last = n;
    }
    return first_missing(seen);
  }
  // The same but for the order.
  [[nodiscard]] std::string missing() const {
    std::vector<bool> seen(static_cast<std::size_t>(rows_) + 1);
    for (const auto& record : read_topic(cluster_.bootstrap_servers(), "events", partitions_)) {
      seen.at(std::stoul(record.headers.at(0).second.value().substr(4))) = true;
    }
    return first_missing(seen);
  }

  [[nodiscard]] bool confirms(const std::string& lsn) {
    return database_.value(fmt::format(
               "SELECT confirmed_flush_lsn >= '{}' FROM pg_replication_slots WHERE slot_name = '{}'", lsn, name())) ==
           "t";
  }
  [[nodiscard]] bool wait_confirmed() {
    const auto target = database_.value("SELECT pg_current_wal_flush_lsn()");
    return wait_until(seconds(30), [&] { return confirms(target); });
  }

  [[nodiscard]] const std::string& name() const { return database_.name(); }
  [[nodiscard]] TestDatabase& database() { return database_; }
  [[nodiscard]] MockCluster& cluster() { return cluster_; }

 private:
  [[nodiscard]] std::string first_missing(const std::vector<bool>& seen) const {
    const auto missing = std::find(seen.begin() + 1, seen.end(), false) - seen.begin();
    return missing > rows_ ? "" : fmt::format("row {} is missing", missing);
  }

  int partitions_;
  TestDatabase database_;
  MockCluster cluster_;
  int rows_ = 0;
};

std::string header(const KafkaRecord& record, const std::string& name) {
  for (const auto& [header_name, value] : record.headers) {
    if (header_name == name) return value.value_or("NULL");
  }
  return "no header " + name;
}

TEST_CASE("a dead letter of any class has what the event had, why it is there and where it came from") {
  MockedOutbox outbox;
  RelayProcess relay(outbox.configuration("on_error = \"dead-letter\""));
  REQUIRE(relay.wait_ready());
  outbox.insert(1);
  REQUIRE(outbox.wait_confirmed());  // the topic is known, the connection up
  const std::vector<std::pair<rd_kafka_resp_err_t, std::string>> refusals = {
      {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, "too-large"},
      {RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, "timestamp"},
      {RD_KAFKA_RESP_ERR_INVALID_RECORD, "rejected"},
      {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, "authorization"},
  };
  struct Row {
    std::string id, xid, failure_class;
  };
  std::vector<Row> rows;
  for (const auto& [error, failure_class] : refusals) {
    outbox.cluster().fail_produce({error});
    const auto inserted = outbox.database().query(
        fmt::format("INSERT INTO outbox (id, type, payload, occurred_at) VALUES ('{}', 'Bad', '{{\"k\": \"key\"}}', "
                    "'2026-01-02 03:04:05.678Z') RETURNING id, pg_current_xact_id()",
                    failure_class));
    rows.push_back({inserted[0][0].value(), inserted[0][1].value(), failure_class});
    REQUIRE(wait_until(
        seconds(20), [&] { return relay.metric("walrelay_dead_letters_total") == static_cast<double>(rows.size()); }));
  }
  INFO(relay.log());
  const auto letters = read_topic(outbox.cluster().bootstrap_servers(), "letters", 1);
  REQUIRE(letters.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& letter = letters[i];
    INFO(rows[i].failure_class);
    CHECK(letter.key == "key");
    CHECK(letter.value == "{\"k\": \"key\"}");
    CHECK(header(letter, "id") == rows[i].id);
    CHECK(header(letter, "type") == "Bad");
    CHECK(header(letter, "walrelay-error-class") == rows[i].failure_class);
    CHECK_THAT(header(letter, "walrelay-error-message"), ContainsSubstring("\"events\""));
    CHECK(header(letter, "walrelay-topic") == "events");
    CHECK(header(letter, "walrelay-outbox") == "public.outbox");
    CHECK(header(letter, "walrelay-xid") == rows[i].xid);
    CHECK(Lsn::parse(header(letter, "walrelay-lsn")).has_value());
    const auto commit_time = std::stoll(header(letter, "walrelay-commit-time"));
    CHECK(letter.timestamp_ms == (rows[i].failure_class == "timestamp" ? commit_time : 1'767'323'045'678));
  }
  CHECK(outbox.wait_confirmed());
  CHECK(relay.stop() == ExitStatus{143, 0});
}

TEST_CASE("rows without a topic, or with an impossible one, go to the dead letters by their class") {
  MockedOutbox outbox;
  RelayProcess relay(
      outbox.configuration("on_error = \"dead-letter\"", "preset = \"standard\"\ntopic = \"{payload/topic}\"\n"));
  REQUIRE(relay.wait_ready());
  outbox.database().exec("INSERT INTO outbox (id, type, payload) VALUES ('none', 'T', '{}')");
  outbox.database().exec("INSERT INTO outbox (id, type, payload) VALUES ('bad', 'T', '{\"topic\": \"not a topic\"}')");
  outbox.database().exec("INSERT INTO outbox (id, type, payload) VALUES ('good', 'T', '{\"topic\": \"events\"}')");
  REQUIRE(outbox.wait_confirmed());
  INFO(relay.log());
  const auto letters = read_topic(outbox.cluster().bootstrap_servers(), "letters", 1);
  REQUIRE(letters.size() == 2);
  CHECK(header(letters[0], "id") == "none");
  CHECK(header(letters[0], "walrelay-error-class") == "mapping");
  CHECK(header(letters[1], "id") == "bad");
  CHECK(header(letters[1], "walrelay-error-class") == "topic");
  CHECK(header(letters[1], "walrelay-topic") == "not a topic");
  CHECK(read_topic(outbox.cluster().bootstrap_servers(), "events", 1).size() == 1);
  CHECK(relay.stop() == ExitStatus{143, 0});
}

// What the line says that the relay halted with.
std::string named_by(const std::string& log) {
  const std::string start = "walrelay run --skip ";
  const auto at = log.find(start);
  if (at == std::string::npos) return "";
  const auto name = log.substr(at + start.size());
  return name[0] == '\'' ? name.substr(1, name.find('\'', 1) - 1) : name.substr(0, name.find(' '));
}

TEST_CASE("rows without an id are passed over by the place that the halt names, wherever they fail") {
  MockedOutbox outbox;
  const bool by_broker = GENERATE(true, false);
  const std::string mapping = "topic = \"{payload/topic}\"\nvalue = \"{payload}\"\n";
  const std::string good = "'{\"topic\": \"events\"}'";
  {
    RelayProcess relay(outbox.configuration("", mapping));
    REQUIRE(relay.wait_ready());
    outbox.database().exec("INSERT INTO outbox (id, type, payload) VALUES ('0', 'T', " + good + ")");
    REQUIRE(outbox.wait_confirmed());
    if (by_broker) outbox.cluster().fail_produce({RD_KAFKA_RESP_ERR_INVALID_RECORD});
    outbox.database().exec(fmt::format("INSERT INTO outbox (id, type, payload) VALUES ('1', 'T', {})",
                                       by_broker ? "'{\"topic\": \"events\", \"bad\": true}'" : "'{\"bad\": true}'"));
    const auto ended = relay.process().wait(seconds(20));
    INFO(relay.log());
    REQUIRE(ended == ExitStatus{4, 0});
    CHECK_THAT(relay.log(), ContainsSubstring(by_broker ? "(rejected)" : "(mapping)"));
    const auto name = named_by(relay.log());
    CHECK((name.find('~') != std::string::npos) == by_broker);
    outbox.database().exec("INSERT INTO outbox (id, type, payload) VALUES ('2', 'T', " + good + ")");
    const auto again =
        walrelay_command({"run", "--drain", "--skip", name}, outbox.configuration("", mapping), {}, seconds(60));
    INFO(again.errors);
    CHECK(again.status == 0);
    CHECK(count_of(again.errors, "event_skipped") == 1);
  }
  const auto records = read_topic(outbox.cluster().bootstrap_servers(), "events", 1);
  REQUIRE(records.size() == 2);
  for (const auto& record : records) CHECK(record.value == "{\"topic\": \"events\"}");
}

// The order is not looked at here: a broker refuses all that follows the refused request of such a producer, the mocked
// one takes what is under way behind it. Nor does a refusal end each producer: one that finds nothing lost goes on.
TEST_CASE("a producer that the broker disowns is replaced, and what is not confirmed is sent again") {
  constexpr int kPartitions = 3;
  MockedOutbox outbox(kPartitions);
  RelayProcess relay(outbox.configuration(""));
  REQUIRE(relay.wait_ready());
  outbox.insert(20);
  REQUIRE(outbox.wait_confirmed());
  int replaced = 0;
  for (const auto error : {RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
                           RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER}) {
    ++replaced;
    bool seen = false;
    for (int attempt = 0; attempt < 6 && !seen; ++attempt) {
      outbox.cluster().fail_produce({RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_NO_ERROR, error});
      outbox.insert(2000, 2000);  // a burst, in which events come just as the producer ends
      seen = wait_until(seconds(5), [&] {
        return relay.metric("walrelay_reconnects_total", {{"side", "sink"}}).value_or(0) >= replaced;
      });
    }
    INFO(relay.log());
    REQUIRE(seen);
  }
  CHECK(outbox.wait_confirmed());
  INFO(relay.log());
  CHECK(count_of(relay.log(), "sink_failed") >= 3);
  CHECK(outbox.missing() == "");
  CHECK(relay.stop() == ExitStatus{143, 0});
}

constexpr int kFirstRows = 14;

// Delivers some rows, and tells for each of two partitions a key that belongs there.
std::array<std::string, 2> keys_of_partitions(MockedOutbox& outbox) {
  outbox.insert(kFirstRows);
  REQUIRE(outbox.wait_confirmed());
  std::array<std::string, 2> keys;
  for (const auto& record : read_topic(outbox.cluster().bootstrap_servers(), "events", 2)) {
    keys.at(static_cast<std::size_t>(record.partition)) = record.key.value();
  }
  return keys;
}

TEST_CASE(
    "A11: a refused event holds the slot before itself, whatever is delivered behind it, until a policy is done") {
  constexpr int kSlow = 1;
  MockedOutbox outbox(2, 2);
  for (int partition = 0; partition < 2; ++partition) outbox.cluster().set_leader("events", partition, partition + 1);
  std::string refused_committed;
  {
    RelayProcess relay(outbox.configuration(""));
    REQUIRE(relay.wait_ready());
    const auto keys = keys_of_partitions(outbox);
    outbox.cluster().fail_produce_of(kSlow, RD_KAFKA_RESP_ERR_INVALID_RECORD, 5'000);
    outbox.insert_row("refused", keys[0]);
    refused_committed = outbox.database().value("SELECT pg_current_wal_insert_lsn()");
    for (int i = 0; i < 9; ++i) outbox.insert_row(fmt::format("good {}", i), keys[1]);
    const auto delivered = [&] { return relay.metric("walrelay_events_total", {{"result", "delivered"}}); };
    CHECK(wait_until(seconds(15), [&] { return delivered() == kFirstRows + 9.0; }));
    INFO(relay.log());
    CHECK_FALSE(outbox.confirms(refused_committed));
    CHECK(relay.process().wait(seconds(20)) == ExitStatus{4, 0});
    CHECK_FALSE(outbox.confirms(refused_committed));
  }
  outbox.cluster().fail_produce_of(kSlow, RD_KAFKA_RESP_ERR_INVALID_RECORD, 0);
  RelayProcess relay(outbox.configuration("on_error = \"dead-letter\""));
  CHECK(outbox.wait_confirmed());
  INFO(relay.log());
  const auto letters = read_topic(outbox.cluster().bootstrap_servers(), "letters", 1);
  REQUIRE(letters.size() == 1);
  CHECK(header(letters[0], "id") == "refused");
  for (const auto& record : read_topic(outbox.cluster().bootstrap_servers(), "events", 2)) {
    CHECK(header(record, "id") != "refused");
  }
}

TEST_CASE("A12: what a fast partition has acknowledged confirms nothing behind what a slow one has not") {
  constexpr int kSlow = 1;
  MockedOutbox outbox(2, 2);
  for (int partition = 0; partition < 2; ++partition) outbox.cluster().set_leader("events", partition, partition + 1);
  {
    RelayProcess relay(outbox.configuration(""));
    REQUIRE(relay.wait_ready());
    const auto keys = keys_of_partitions(outbox);
    outbox.cluster().set_round_trip(kSlow, 20'000);
    outbox.insert_row("slow", keys[0]);
    const auto slow_committed = outbox.database().value("SELECT pg_current_wal_insert_lsn()");
    outbox.insert_row("fast", keys[1]);
    CHECK(wait_until(seconds(15), [&] {
      return relay.metric("walrelay_events_total", {{"result", "delivered"}}) == kFirstRows + 1.0;
    }));
    INFO(relay.log());
    std::this_thread::sleep_for(milliseconds(500));  // longer than a status update takes to be due
    CHECK_FALSE(outbox.confirms(slow_committed));
    relay.process().signal(SIGKILL);
    REQUIRE(relay.process().wait(seconds(5)));
    outbox.cluster().set_round_trip(kSlow, 0);
  }
  RelayProcess relay(outbox.configuration(""));
  CHECK(outbox.wait_confirmed());
  std::map<std::string, int> times;
  for (const auto& record : read_topic(outbox.cluster().bootstrap_servers(), "events", 2))
    ++times[header(record, "id")];
  CHECK(times["slow"] == 2);  // the broker had it; only its answer was slow
  CHECK(times["fast"] == 2);
  CHECK(relay.stop() == ExitStatus{143, 0});
}

}  // namespace
}  // namespace walrelay::test
