// The walsender is ended again and again: every 2.5 s for 25 s, or every WALRELAY_TERMINATE_EVERY_MS milliseconds for
// WALRELAY_TERMINATE_SECONDS seconds. Meanwhile somebody looks at all that the relay says of itself.

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <mutex>
#include <set>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/json_value.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

// Compares /status, /readyz and /metrics with each other and with what must hold. A look counts if the state was the
// same before and after it.
class Witness {
 public:
  explicit Witness(RelayProcess& relay) : relay_(relay), looking_([this] { look(); }, milliseconds(30)) {}

  void stop() { looking_.stop(); }
  [[nodiscard]] std::size_t ready_looks() const { return ready_looks_; }
  [[nodiscard]] std::size_t not_ready_looks() const { return not_ready_looks_; }
  // What was not true, "" if all was.
  [[nodiscard]] std::string lies() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& lie : lies_) text += lie + "\n";
    return text;
  }

 private:
  void look() {
    const auto before = relay_.get("/status").body;
    const auto readyz = relay_.get("/readyz");
    const auto metric = [&](const char* name) { return relay_.metric(name); };
    const auto ready = metric("walrelay_ready");
    const auto active = metric("walrelay_active");
    const auto connected = metric("walrelay_replication_connected");
    const auto lag_seconds = metric("walrelay_lag_seconds");
    const auto lag_bytes = metric("walrelay_lag_bytes");
    const auto reconnects = relay_.metric("walrelay_reconnects_total", {{"side", "source"}});
    const auto after = relay_.get("/status").body;
    const auto same = [&](const char* pointer) { return json_value(before, pointer) == json_value(after, pointer); };
    if (!same("/state") || !same("/since") || !same("/not_ready") || !same("/role")) return;

    const bool streaming = json_value(before, "/state") == "streaming";
    claim(json_value(before, "/ready") == (streaming ? "true" : "false"), "ready is that it streams", before);
    claim((readyz.status == 200) == streaming, "/readyz says what /status does", before);
    claim(streaming || readyz.body.find(':') != std::string::npos, "/readyz has a reason", readyz.body);
    claim(ready == (streaming ? 1.0 : 0.0), "walrelay_ready says what /status does", before);
    claim(active == connected && active == (streaming ? 1.0 : 0.0), "walrelay_active is that it streams", before);
    claim(json_value(before, "/role") == (streaming ? "active" : "standby"), "so does the role", before);
    claim(!streaming || lag_seconds, "the lag in seconds is known while it streams", before);
    claim(streaming || lag_seconds != 0.0, "a lag that is not known is not 0", before);
    claim(lag_bytes.has_value(), "the lag in bytes is known all the time: queries go on", before);
    claim(reconnects >= std::stod(json_value(before, "/reconnects/source")) &&
              reconnects <= std::stod(json_value(after, "/reconnects/source")) && reconnects >= last_reconnects_,
          "reconnects are counted, and never less", before + after);
    last_reconnects_ = reconnects.value_or(0);
    ++(streaming ? ready_looks_ : not_ready_looks_);
  }

  void claim(bool holds, const std::string& what, const std::string& seen) {
    const std::lock_guard lock(mutex_);
    if (!holds && lies_.size() < 10) lies_.push_back(fmt::format("not so: {}: {}", what, seen));
  }

  RelayProcess& relay_;
  mutable std::mutex mutex_;
  std::vector<std::string> lies_;
  double last_reconnects_ = 0;
  std::atomic<std::size_t> ready_looks_{0};
  std::atomic<std::size_t> not_ready_looks_{0};
  Background looking_;
};

}  // namespace

TEST_CASE("a walsender that is ended every few seconds costs nothing, and page and metrics say the truth all the time",
          "[.torture]") {
  const seconds time(number_from("WALRELAY_TERMINATE_SECONDS", 25));
  const milliseconds every(number_from("WALRELAY_TERMINATE_EVERY_MS", 2500));
  TestDatabase database;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), shared_kafka());
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  const auto reconnects = [&] { return relay.metric("walrelay_reconnects_total", {{"side", "source"}}).value_or(0); };
  Background load([&] { outbox.insert(20); }, milliseconds(20));
  Witness witness(relay);
  int ended = 0;
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < time) {
    INFO(witness.lies() << relay.log());
    std::string pid;
    REQUIRE(wait_until(seconds(20), [&] { return !(pid = outbox.walsender_pid()).empty(); }));
    REQUIRE(wait_until(seconds(20), [&] { return relay.get("/readyz").status == 200; }));
    outbox.session().exec("SELECT pg_terminate_backend(" + pid + ")");
    ++ended;
    REQUIRE(wait_until(seconds(20), [&] { return reconnects() >= ended; }));
    std::this_thread::sleep_until(begin + ended * every);
  }
  load.stop();
  REQUIRE(wait_until(seconds(20), [&] { return relay.get("/readyz").status == 200; }));
  witness.stop();
  const auto comparison = outbox.compare(seconds(120));
  std::cout << fmt::format("{} ends of the walsender, {} reconnects, {} looks while ready, {} while not; {}", ended,
                           reconnects(), witness.ready_looks(), witness.not_ready_looks(), comparison.text())
            << '\n'
            << std::flush;
  INFO(witness.lies() << comparison.text() << "\n" << relay.log());
  CHECK(comparison.exact());
  CHECK(comparison.rows > 1000);
  CHECK(witness.lies().empty());
  CHECK(witness.ready_looks() > 0);
  CHECK(witness.not_ready_looks() > 0);
  CHECK_THAT(relay.get("/status").body, ContainsSubstring("\"event\":\"reconnecting\""));
  CHECK(outbox.wait_confirmed());
}

}  // namespace walrelay::test
