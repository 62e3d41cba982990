// Whatever names a metric of the relay (dashboard, alerts, documentation) names one that it has.

#include <array>
#include <filesystem>
#include <regex>
#include <set>

#include "connector/observe/metrics_text.h"
#include "tests/support/catch.h"
#include "tests/support/set_clock.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {
namespace {

constexpr std::array kWithDashboard = {"/deploy/grafana/walrelay.json", "/deploy/prometheus/alerts.yml"};
constexpr std::array kPages = {"/README.md", "/docs/operations.md", "/docs/guarantees.md", "/docs/security.md"};

std::set<std::string> names_in(const std::string& text, const char* pattern) {
  const std::regex name(pattern);
  std::set<std::string> names;
  for (auto found = std::sregex_iterator(text.begin(), text.end(), name); found != std::sregex_iterator(); ++found) {
    names.insert((*found)[1]);
  }
  return names;
}

// As a scrape of a relay that knows everything has them.
std::set<std::string> metrics_of_a_relay() {
  RelayMetrics metrics(1);
  for (auto* gauge : {&metrics.confirmed_lsn, &metrics.frontier_lsn, &metrics.server_wal_lsn,
                      &metrics.slot_retained_bytes, &metrics.slot_safe_bytes, &metrics.oldest_unconfirmed_commit,
                      &metrics.sink_queue_events, &metrics.sink_round_trip_us}) {
    gauge->set(1);
  }
  metrics.retention(0).wanted.set(1);
  metrics.retention(0).last_run.set(1);
  const auto text = metrics_text({"1.2.3", "s", {"public.outbox"}, "kafka"}, metrics, SetClock(), true);
  auto names = names_in(text, R"(# TYPE (walrelay_\w+) )");
  for (const auto* part : {"_bucket", "_sum", "_count"})
    names.insert("walrelay_commit_to_ack_seconds" + std::string(part));
  return names;
}

// Metrics in a file; a name that ends in "_" stands for several ("walrelay_sink_*").
std::set<std::string> metrics_named_in(const std::string& file) {
  const auto text = read_file(std::string(WALRELAY_SOURCE_DIR) + file);
  REQUIRE_FALSE(text.empty());
  return names_in(text, R"(\b(walrelay_[a-z_]*[a-z])\b(?![-.*]))");
}

}  // namespace

TEST_CASE("every metric that dashboard, alerts and documentation name exists") {
  const auto known = metrics_of_a_relay();
  const auto check = [&](const char* file) {
    for (const auto& name : metrics_named_in(file)) {
      CAPTURE(file, name);
      CHECK(known.count(name) == 1);
    }
  };
  for (const auto* file : kWithDashboard) check(file);
  for (const auto* file : kPages) check(file);
}

TEST_CASE("the list in docs/operations.md has every metric that a relay has") {
  const auto listed = metrics_named_in("/docs/operations.md");
  for (const auto& name : metrics_of_a_relay()) {
    if (name.starts_with("walrelay_commit_to_ack_seconds_")) continue;
    CAPTURE(name);
    CHECK(listed.count(name) == 1);
  }
}

TEST_CASE("the dashboard shows every metric that a relay has") {
  const auto shown = metrics_named_in("/deploy/grafana/walrelay.json");
  for (const auto& name : metrics_of_a_relay()) {
    if (name.starts_with("walrelay_commit_to_ack_seconds")) continue;  // its buckets
    CAPTURE(name);
    CHECK(shown.count(name) == 1);
  }
  CHECK(shown.count("walrelay_commit_to_ack_seconds_bucket") == 1);
}

}  // namespace walrelay::test
