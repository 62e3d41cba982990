// The status page in a real browser, and what `walrelay status --url` makes of the same answers.

#include <fmt/format.h>
#include <httplib.h>

#include <filesystem>
#include <thread>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/free_port.h"
#include "tests/support/json_value.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/outbox_case.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

// The name of an outbox without a table may be any text.
const std::string kStrangeName = "<img src=x onerror=alert(1)>";

// With a broker that can be taken away, and a password.
class Watched : public OutboxCase {
 public:
  Watched() {
    exec("CREATE TABLE outbox (id bigserial PRIMARY KEY, n integer, done timestamptz)");
    add_outbox("table = \"public.outbox\"\ntopic = \"t\"\nid = \"{id}\"\nvalue = \"{n}\"\nprocessed_at = \"done\"");
    add_outbox(fmt::format("messages = {}\ntopic = \"m\"", toml_quoted(kStrangeName)));
    set_sink(fmt::format("[sink.kafka]\n\"bootstrap.servers\" = \"{}\"", broker_.address()));
    set_dsn(database().dsn() + " password='open sesame'");
    init();
  }

  [[nodiscard]] KafkaBroker& broker() { return broker_; }
  void insert() { exec("INSERT INTO outbox (n) SELECT generate_series(1, 20)"); }

 private:
  KafkaBroker broker_;
};

// What the script asks for by its lines "do: ...", as they come.
class Errands {
 public:
  explicit Errands(const Process& script) : script_(script) {}

  [[nodiscard]] std::string next() {
    const auto lines = script_.output().substr(read_);
    const auto end = lines.find('\n');
    if (end == std::string::npos) return "";
    read_ += end + 1;
    return lines.substr(0, end);
  }

 private:
  const Process& script_;
  std::size_t read_ = 0;
};

TEST_CASE("the status page shows in a real browser what the relay does, to people of every kind") {
  if (!std::filesystem::exists("/usr/bin/chromium")) {
    WARN("not run: chromium is not installed");
    return;
  }
  Watched outbox;
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  Process script("/usr/bin/python3",
                 {WALRELAY_SOURCE_DIR "/tests/integration/status_page.py",
                  fmt::format("http://127.0.0.1:{}/", relay.http_port().value()), outbox.name(), kStrangeName});
  std::unique_ptr<Background> load;
  Errands errands(script);
  bool passed = false;
  const bool ended = wait_until(seconds(150), [&] {
    const auto line = errands.next();
    if (line == "do: insert") load = std::make_unique<Background>([&] { outbox.insert(); }, milliseconds(50));
    if (line == "do: take the broker away") outbox.broker().kill();
    if (line == "do: give the broker back") outbox.broker().start();
    if (line == "do: stop the relay") static_cast<void>(relay.stop());
    passed = passed || line == "passed";
    return line.empty() && !script.running();
  });
  INFO(script.output() << script.errors() << relay.log());
  CHECK(ended);
  CHECK(passed);
}

// Says `answer` to whoever asks for /status.
class OtherServer {
 public:
  explicit OtherServer(const std::string& answer) {
    server_.Get("/status", [answer](const httplib::Request&, httplib::Response& response) {
      response.set_content(answer, "text/plain");
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    REQUIRE(wait_until(seconds(10), [&] { return server_.is_running(); }));
  }
  ~OtherServer() {
    server_.stop();
    thread_.join();
  }
  OtherServer(const OtherServer&) = delete;
  OtherServer& operator=(const OtherServer&) = delete;
  [[nodiscard]] std::string address() const { return fmt::format("http://127.0.0.1:{}", port_); }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

TEST_CASE("status --url shows what a running instance says, for people and as JSON, without a configuration") {
  OutboxCase outbox;
  outbox.exec("CREATE TABLE outbox (n integer)");
  outbox.add_outbox("table = \"public.outbox\"\ntopic = \"t\"\nvalue = \"{n}\"");
  outbox.set_sink("[sink]\ntype = \"stdout\"");
  outbox.init();
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  outbox.exec("INSERT INTO outbox SELECT generate_series(1, 10)");
  REQUIRE(outbox.wait_drained());
  const auto address = fmt::format("127.0.0.1:{}", relay.http_port().value());
  for (const auto& url : {address, "http://" + address, "http://" + address + "/"}) {
    const auto told = walrelay_command({"status", "--url", url});
    INFO(told.output << told.errors);
    CHECK(told.status == 0);
    CHECK_THAT(told.output, ContainsSubstring("slot " + outbox.name() + ": active, streaming since 20"));
    CHECK_THAT(told.output, ContainsSubstring("  outbox public.outbox: 10 delivered, 0 dead letters, 0 skipped\n"));
    CHECK_THAT(told.output, ContainsSubstring("B (reserved), without limit\n"));
    CHECK_THAT(told.output, !ContainsSubstring("not ready"));
  }
  const auto json = walrelay_command({"status", "--json", "--url", address});
  CHECK(json_value(json.output, "/slot") == outbox.name());
  CHECK(json_value(json.output, "/ready") == "true");
  CHECK(json_value(json.output, "/outboxes/0/delivered") == "10");
}

TEST_CASE("status --url tells sizes and times as people read them, and takes nothing unknown for something else") {
  const auto told = [](const std::string& answer) {
    const OtherServer instance(answer);
    return walrelay_command({"status", "--url", instance.address()}).output;
  };
  CHECK(told(R"({"version":"1.2.3","slot":"orders","role":"active","state":"streaming","since":"12:00","not_ready":[],
      "positions":{"confirmed":"0/10"},"lag":{"bytes":3145728,"seconds":75.2},"in_flight":{"events":7},
      "slot_retained_bytes":12582912,"slot_safe_bytes":68270584,"slot_seconds_until_lost":254128,
      "slot_wal_status":"extended","server":{"host":"db:5432","version":"17.2"},"sink":"kafka b:9092",
      "outboxes":[{"name":"a","delivered":4,"dead_letter":1,"skipped":0,"write_back":null},
                  {"name":"b","delivered":6,"dead_letter":0,"skipped":0,
                   "write_back":{"written":5,"unchanged":0,"failed":1}}],
      "write_back_pending_rows":2,"reconnects":{"source":1,"sink":0}})") ==
        R"(slot orders: active, streaming since 12:00
  confirmed 0/10, lag 3.0 MiB, 1 min 15 s, 7 events in flight
  retained WAL 12.0 MiB (extended), 65.1 MiB more until the slot is lost, at the present rate in 2 d 22 h
  outbox a: 4 delivered, 1 dead letters, 0 skipped
  outbox b: 6 delivered, 0 dead letters, 0 skipped, 5 written back, 1 given up
  2 rows to be written back
  reconnects 1 to the server, 0 to the sink
  walrelay 1.2.3, PostgreSQL 17.2 at db:5432, kafka b:9092
)");
  CHECK(told(R"({"version":"1.2.3","slot":"orders","role":"standby","state":"connecting","since":"12:00",
      "not_ready":["refused"],"positions":{"confirmed":null},"lag":{"bytes":null,"seconds":null},
      "in_flight":{"events":0},"slot_retained_bytes":null,"slot_safe_bytes":null,"slot_seconds_until_lost":null,
      "slot_wal_status":null,"server":null,"sink":"kafka b:9092","outboxes":[],"write_back_pending_rows":null,
      "reconnects":{"source":1,"sink":0}})") == R"(slot orders: connecting to PostgreSQL since 12:00
  not ready: refused
  confirmed position not known, lag not known, 0 events in flight
  retained WAL not known
  reconnects 1 to the server, 0 to the sink
  walrelay 1.2.3, no server yet, kafka b:9092
)");
  CHECK_THAT(told(R"({"slot":"s","state":"standby","positions":{},"slot_retained_bytes":9,"slot_safe_bytes":-5,
      "slot_wal_status":"unreserved","slot_seconds_until_lost":0})"),
             ContainsSubstring("slot s: standby since") &&
                 ContainsSubstring("9 B (unreserved), past its limit: the slot can be lost any moment\n"));
}

TEST_CASE("status --url says what is wrong with an address where no walrelay answers") {
  const auto ask = [](const std::string& url) { return walrelay_command({"status", "--url", url}); };
  for (const auto* url :
       {"ftp://127.0.0.1:1", "http://", "http://user:secret@127.0.0.1:1", "http://127.0.0.1:1/status"}) {
    const auto refused = ask(url);
    CHECK(refused.status == 1);
    CHECK_THAT(refused.errors, ContainsSubstring("write it as http://HOST:PORT"));
    CHECK_THAT(refused.errors, !ContainsSubstring("secret"));
  }
  const auto nobody = ask(fmt::format("http://127.0.0.1:{}", free_port()));
  CHECK(nobody.status == 1);
  CHECK_THAT(nobody.errors, ContainsSubstring("cannot connect: refused"));
  const OtherServer other("hello");
  CHECK_THAT(ask(other.address()).errors, ContainsSubstring("the answer is not walrelay's"));
  const OtherServer json(R"({"status":"up"})");
  CHECK_THAT(ask(json.address()).errors, ContainsSubstring("the answer is not walrelay's"));
  CHECK_THAT(ask(other.address() + "1").errors, ContainsSubstring("cannot connect"));
}

}  // namespace
}  // namespace walrelay::test
