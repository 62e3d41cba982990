// A real Prometheus: what it makes of /metrics, of the alert rules, and of the dashboard's expressions.

#include <fmt/format.h>
#include <httplib.h>

#include <regex>
#include <set>

#include "tests/support/catch.h"
#include "tests/support/free_port.h"
#include "tests/support/outbox_case.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

const std::string kAlerts = WALRELAY_SOURCE_DIR "/deploy/prometheus/alerts.yml";
const std::string kDashboard = WALRELAY_SOURCE_DIR "/deploy/grafana/walrelay.json";

// Scrapes one target five times a second, with the alert rules loaded.
class Prometheus {
 public:
  explicit Prometheus(const std::string& target)
      : process_("prometheus", {"--config.file=" + configuration(target), "--storage.tsdb.path=" + files_.file("data"),
                                fmt::format("--web.listen-address=127.0.0.1:{}", port_), "--log.level=warn"}) {}

  // The answer to an instant query, "" while there is none.
  [[nodiscard]] std::string query(const std::string& expression) const {
    return get("/api/v1/query", {{"query", expression}});
  }
  [[nodiscard]] std::string get(const std::string& path, const httplib::Params& parameters = {}) const {
    httplib::Client client("127.0.0.1", port_);
    client.set_read_timeout(seconds(10));
    const auto reply = client.Get(path, parameters, httplib::Headers());
    return reply ? reply->body : "";
  }
  [[nodiscard]] std::string log() const { return process_.errors(); }

 private:
  [[nodiscard]] std::string configuration(const std::string& target) const {
    write_file(files_.file("prometheus.yml"),
               fmt::format("global: {{scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}}\n"
                           "rule_files: [{}]\n"
                           "scrape_configs:\n  - job_name: walrelay\n    static_configs: [{{targets: [\"{}\"]}}]\n",
                           kAlerts, target));
    return files_.file("prometheus.yml");
  }

  TempDir files_;
  std::uint16_t port_ = free_port();
  Process process_;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// As Grafana sends them, with its variables replaced.
std::set<std::string> dashboard_expressions() {
  const auto text = read_file(kDashboard);
  const std::regex expression(R"re("expr": "((?:[^"\\]|\\.)*)")re");
  std::set<std::string> expressions;
  for (auto found = std::sregex_iterator(text.begin(), text.end(), expression); found != std::sregex_iterator();
       ++found) {
    std::string asked = std::regex_replace((*found)[1].str(), std::regex(R"(\\")"), "\"");
    asked = std::regex_replace(asked, std::regex(R"(\$__rate_interval)"), "1m");
    expressions.insert(std::regex_replace(asked, std::regex(R"(\$(slot|instance))"), ".*"));
  }
  return expressions;
}

}  // namespace

TEST_CASE("a real Prometheus scrapes a relay, loads the alerts, and answers every question of the dashboard") {
  OutboxCase outbox;
  outbox.exec("CREATE TABLE outbox (n integer)");
  outbox.add_outbox("table = \"public.outbox\"\ntopic = \"t\"\nvalue = \"{n}\"");
  outbox.set_sink("[sink]\ntype = \"stdout\"");
  outbox.init();
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  const Prometheus prometheus(fmt::format("127.0.0.1:{}", relay.http_port().value()));
  outbox.exec("INSERT INTO outbox SELECT generate_series(1, 1000)");

  const auto delivered = [&] { return prometheus.query(R"(walrelay_events_total{result="delivered"} == 1000)"); };
  const bool seen = wait_until(seconds(60), [&] { return contains(delivered(), outbox.name()); });
  INFO(prometheus.log() << relay.log());
  REQUIRE(seen);
  CHECK(contains(prometheus.query("walrelay_active"), R"("slot":")" + outbox.name()));
  CHECK(contains(prometheus.query("up{job=\"walrelay\"} == 1"), "walrelay"));
  REQUIRE(wait_until(seconds(30), [&] {  // a rate needs a second scrape, a round trip the client's first statistics
    return contains(prometheus.query("rate(walrelay_server_wal_lsn[1m])"), outbox.name());
  }));

  const auto expressions = dashboard_expressions();
  CHECK(expressions.size() > 20);
  for (const auto& expression : expressions) {
    CAPTURE(expression);
    const auto answer = prometheus.query(expression);
    CHECK_THAT(answer, ContainsSubstring("\"status\":\"success\""));
    // A sink without a client library has neither queue nor round trip, a server without max_slot_wal_keep_size no
    // limit, and this one no retention.
    const bool absent = contains(expression, "walrelay_sink_") || contains(expression, "walrelay_slot_safe_bytes") ||
                        contains(expression, "walrelay_retention_");
    if (!absent) CHECK_THAT(answer, !ContainsSubstring("\"result\":[]"));
  }
  const auto rules = prometheus.get("/api/v1/rules");
  CHECK_THAT(rules, ContainsSubstring("WalrelaySlotNearInvalidation"));
  CHECK_THAT(rules, !ContainsSubstring("\"health\":\"err\""));
  CHECK_THAT(prometheus.get("/api/v1/alerts"), !ContainsSubstring("\"state\":\"firing\""));
}

}  // namespace walrelay::test
