// docs/examples: consumers that handle each event once, against a real broker that has everything twice.

#include <fmt/format.h>

#include <filesystem>

#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/outbox_case.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr int kRows = 500;
const std::string kExamples = WALRELAY_SOURCE_DIR "/docs/examples/";

struct Example {
  std::string program;
  std::vector<std::string> arguments;
  std::string database = "postgresql://{user}@127.0.0.1:{port}/{name}";
};

// Rows 1 to kRows, delivered, and published once more; the consumer's tables are in the same database.
class Repeats : public OutboxCase {
 public:
  Repeats() {
    exec("CREATE TABLE outbox (id uuid DEFAULT gen_random_uuid(), n integer); CREATE TABLE others (n integer)");
    exec(read_file(kExamples + "inbox.sql"));
    add_outbox(fmt::format("table = \"public.outbox\"\nid = \"{{id}}\"\ntopic = \"{}\"\nvalue = \"{{n}}\"", name()));
    add_outbox(fmt::format("table = \"public.others\"\ntopic = \"{}\"\nvalue = \"{{n}}\"", name()));  // without an id
    init();
    exec(fmt::format("INSERT INTO outbox (n) SELECT generate_series(1, {})", kRows));
    drain();
    const auto again = run("replay", {"--yes"});
    INFO(again.errors);
    REQUIRE(again.status == 0);
  }

  [[nodiscard]] std::unique_ptr<Process> consume(const Example& example, const std::string& group) {
    const auto url = fmt::format(fmt::runtime(example.database), fmt::arg("port", database().value("SHOW port")),
                                 fmt::arg("user", database().value("SELECT current_user")), fmt::arg("name", name()));
    ProcessOptions options;
    options.environment = {
        {"KAFKA_BROKERS", shared_kafka()}, {"KAFKA_TOPIC", name()}, {"KAFKA_GROUP", group}, {"DATABASE_URL", url}};
    return std::make_unique<Process>(example.program, example.arguments, options);
  }

  [[nodiscard]] int effects(const std::string& what = "*") {
    return std::stoi(database().value("SELECT count(" + what + ") FROM effects"));
  }
  // Of the row n, which is inserted and delivered. Less than the timeout of a session that nobody ended.
  [[nodiscard]] bool takes_effect(int n, std::chrono::milliseconds at_most = seconds(60)) {
    exec(fmt::format("INSERT INTO outbox (n) VALUES ({})", n));
    drain();
    return wait_until(at_most, [&] {
      return database().value(fmt::format("SELECT count(*) FROM effects WHERE value = '{}'", n)) == "1";
    });
  }
};

// The topic has one partition: whoever has handled the last event has seen all before it.
void handles_each_event_once(const Example& example) {
  Repeats outbox;
  {
    const auto killed = outbox.consume(example, unique_name());
    const bool begun = wait_until(seconds(60), [&] { return outbox.effects() >= 10; });
    INFO(killed->output() << killed->errors());
    REQUIRE(begun);
  }
  outbox.exec("INSERT INTO others VALUES (1)");
  const auto group = unique_name();
  const auto second = outbox.consume(example, group);
  const bool second_handles = outbox.takes_effect(kRows + 1);
  INFO(second->output() << second->errors());
  REQUIRE(second_handles);
  CHECK_THAT(second->errors(), ContainsSubstring("no id: " + outbox.name()));
  // The group that it leaves is free for the next one.
  second->signal(SIGTERM);
  REQUIRE(second->wait(seconds(20)));
  const auto third = outbox.consume(example, group);
  const bool third_handles = outbox.takes_effect(kRows + 2, seconds(30));
  INFO(third->output() << third->errors());
  CHECK(third_handles);
  CHECK(OutboxCase::records(outbox.name()).size() == 2 * kRows + 3);
  CHECK(outbox.effects() == kRows + 2);
  CHECK(outbox.effects("DISTINCT value") == kRows + 2);
}

}  // namespace

TEST_CASE("the Python consumer handles each event once, though it is killed and everything comes again") {
  const std::string python = "/usr/bin/python3";  // Debian's, which has Debian's packages
  if (run_command(python, {"-c", "import confluent_kafka, psycopg"}).status != 0) {
    WARN("not run: python3-confluent-kafka and python3-psycopg are not installed");
    return;
  }
  handles_each_event_once({python, {kExamples + "consumer.py"}});
}

TEST_CASE("the Java consumer handles each event once, though it is killed and everything comes again") {
  const std::string driver = "/usr/share/java/postgresql.jar";
  if (!std::filesystem::exists(driver)) {
    WARN("not run: libpostgresql-jdbc-java is not installed");
    return;
  }
  const TempDir classes;  // compiled once, run twice
  const auto jars = kafka_jars() + "/*:" + driver;
  const auto compiled = run_command(
      "javac", {"-cp", jars, "-d", classes.path().string(), kExamples + "OnceConsumer.java"}, {}, seconds(60));
  INFO(compiled.errors);
  REQUIRE(compiled.status == 0);
  handles_each_event_once({"java",
                           {"-XX:TieredStopAtLevel=1", "-cp", jars + ":" + classes.path().string(), "OnceConsumer"},
                           "jdbc:postgresql://127.0.0.1:{port}/{name}?user={user}"});
}

// Its libraries are fetched and compiled, so it is no part of the usual run.
TEST_CASE("the Go consumer handles each event once, though it is killed and everything comes again", "[.package]") {
  if (run_command("go", {"version"}).status != 0) {
    WARN("not run: Go is not installed");
    return;
  }
  const TempDir directory;
  const auto program = directory.file("consumer");
  const auto built = run_command("go", {"-C", kExamples + "go", "build", "-o", program, "."}, {}, seconds(600));
  INFO(built.errors);
  REQUIRE(built.status == 0);
  handles_each_event_once({program, {}});
}

}  // namespace walrelay::test
