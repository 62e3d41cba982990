// Events as lines: the stdout and file sinks, and `walrelay tail`.

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "tests/support/catch.h"
#include "tests/support/json_value.h"
#include "tests/support/outbox_case.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// public.outbox (n, k, payload, at) without a preset.
class LineOutbox : public OutboxCase {
 public:
  explicit LineOutbox(const std::string& payload_type = "json") {
    exec("CREATE TABLE outbox (n integer, k text, payload " + payload_type +
         ", at timestamptz DEFAULT 'epoch'::timestamptz + interval '1.5 s')");
    add_outbox(
        "table = \"public.outbox\"\nid = \"{n}\"\ntopic = \"t\"\nkey = \"{k}\"\nvalue = \"{payload}\"\ntimestamp = "
        "\"{at}\"");
    set_sink("[sink]\ntype = \"stdout\"");
    init();
  }

  [[nodiscard]] std::vector<std::string> drained_lines() const {
    const auto result = run("run", {"--drain"});
    INFO(result.errors);
    CHECK(result.status == 0);
    return lines_of(result.output);
  }
};

TEST_CASE("the stdout sink writes the documented line for each event, numbered within its commit") {
  LineOutbox outbox;
  outbox.exec("INSERT INTO outbox VALUES (1, 'a \"b\"', '{ \"x\":\n 1.10}'), (2, NULL, NULL)");
  outbox.exec("INSERT INTO outbox VALUES (3, '', 'null')");
  const auto lines = outbox.drained_lines();
  REQUIRE(lines.size() == 3);
  const auto lsn = json_value(lines[0], "/lsn");
  CHECK(lines[0] == fmt::format(R"({{"topic":"t","key":"a \"b\"","value":{{ "x":  1.10}},"headers":{{"id":"1"}},)"
                                R"("timestamp":1500,"lsn":"{}","index":0}})",
                                lsn));
  CHECK(lines[1] == fmt::format(R"({{"topic":"t","key":null,"value":null,"tombstone":true,"headers":{{"id":"2"}},)"
                                R"("timestamp":1500,"lsn":"{}","index":1}})",
                                lsn));
  CHECK(lines[2] == fmt::format(R"({{"topic":"t","key":"","value":null,"headers":{{"id":"3"}},"timestamp":1500,)"
                                R"("lsn":"{}","index":0}})",
                                json_value(lines[2], "/lsn")));
  CHECK(outbox.drained_lines().empty());  // confirmed
}

TEST_CASE("values that are not JSON are strings, and what is not UTF-8 is base64") {
  LineOutbox outbox("bytea");
  outbox.exec(R"(INSERT INTO outbox VALUES (1, 'k', 'say "hi"'), (2, 'k', '\xff00'), (3, 'k', ''))");
  const auto lines = outbox.drained_lines();
  REQUIRE(lines.size() == 3);
  CHECK(json_value(lines[0], "/value") == "say \"hi\"");
  CHECK(json_value(lines[1], "/value") == "/wA=");
  CHECK(json_value(lines[1], "/encoding") == "base64");
  CHECK(json_value(lines[2], "/value").empty());
}

TEST_CASE("the file sink appends lines, and what it has written is confirmed") {
  LineOutbox outbox;
  const TempDir directory;
  const auto file = directory.file("events.jsonl");
  outbox.set_sink(fmt::format("[sink]\ntype = \"file\"\n[sink.file]\npath = {}", toml_quoted(file)));
  outbox.exec("INSERT INTO outbox VALUES (1, 'k', '{}')");
  outbox.drain();
  REQUIRE(lines_of(read_file(file)).size() == 1);
  {
    RelayProcess relay(outbox.configuration());
    INFO(relay.log());
    outbox.exec("INSERT INTO outbox SELECT i, 'k', '{}' FROM generate_series(2, 1000) i");
    REQUIRE(outbox.wait_drained());
    CHECK(relay.stop() == ExitStatus{143, 0});
  }
  outbox.drain();
  const auto lines = lines_of(read_file(file));
  REQUIRE(lines.size() == 1'000);
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(json_value(lines[i], "/headers/id") == std::to_string(i + 1));
}

TEST_CASE("a file that a killed relay left with half a line goes on with whole ones") {
  LineOutbox outbox;
  const TempDir directory;
  const auto file = directory.file("events.jsonl");
  write_file(file, "{\"topic\":\"t\"}\n{\"topic\":\"to");
  outbox.set_sink(fmt::format("[sink]\ntype = \"file\"\n[sink.file]\npath = {}", toml_quoted(file)));
  outbox.exec("INSERT INTO outbox VALUES (1, 'k', '{}')");
  outbox.drain();
  const auto lines = lines_of(read_file(file));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "{\"topic\":\"t\"}");
  CHECK(json_value(lines[1], "/headers/id") == "1");
}

TEST_CASE("tail prints events from now on, and neither confirms nor leaves anything") {
  LineOutbox outbox;
  outbox.exec("INSERT INTO outbox VALUES (1, 'k', '{}')");
  const auto before = outbox.confirmed();
  const TempDir directory;
  write_file(directory.file("c.toml"), outbox.configuration());
  Process tail(walrelay_program(), {"tail", "-c", directory.file("c.toml")});
  REQUIRE(wait_until(seconds(15), [&] { return tail.errors().find("from now on") != std::string::npos; }));
  outbox.exec("INSERT INTO outbox VALUES (2, 'k', '{\"two\": 2}')");
  INFO(tail.errors());
  REQUIRE(wait_until(seconds(15), [&] { return tail.output().find('\n') != std::string::npos; }));
  CHECK(json_value(tail.output(), "/value") == "{\"two\": 2}");
  tail.signal(SIGINT);
  CHECK(tail.wait(seconds(10)) == ExitStatus{130, 0});
  CHECK(outbox.confirmed() == before);
  const auto slots = [&] {
    return outbox.database().value("SELECT count(*) FROM pg_replication_slots WHERE database = current_database()");
  };
  CHECK(wait_until(seconds(5), [&] { return slots() == "1"; }));
  CHECK(outbox.drained_lines().size() == 2);  // all that tail has seen, and what was before
}

}  // namespace
}  // namespace walrelay::test
