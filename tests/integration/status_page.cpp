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
    exec("CREATE TABLE outbox (n integer)");
    add_outbox("table = \"public.outbox\"\ntopic = \"t\"\nvalue = \"{n}\"");
    add_outbox(fmt::format("messages = {}\ntopic = \"m\"", toml_quoted(kStrangeName)));
    set_sink(fmt::format("[sink.kafka]\n\"bootstrap.servers\" = \"{}\"", broker_.address()));
    set_dsn(database().dsn() + " password='open sesame'");
    init();
  }

  [[nodiscard]] KafkaBroker& broker() { return broker_; }
  void insert() { exec("INSERT INTO outbox SELECT generate_series(1, 20)"); }

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
    CHECK_THAT(told.output, ContainsSubstring("bytes, status reserved, without limit\n"));
    CHECK_THAT(told.output, !ContainsSubstring("not ready"));
  }
  const auto json = walrelay_command({"status", "--json", "--url", address});
  CHECK(json_value(json.output, "/slot") == outbox.name());
  CHECK(json_value(json.output, "/ready") == "true");
  CHECK(json_value(json.output, "/outboxes/0/delivered") == "10");
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
