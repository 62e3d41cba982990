#include "connector/observe/metrics_text.h"

#include <regex>
#include <sstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/set_clock.h"

namespace walrelay::test {
namespace {

const RelayIdentity kIdentity{"1.2.3", "orders", {"public.outbox", R"(we"ird\na)"}, "kafka", 800'000'000'000'000};

std::string text(const RelayMetrics& metrics, const Clock& clock = SetClock()) {
  return metrics_text(kIdentity, metrics, clock, true);
}

}  // namespace

TEST_CASE("every line of the exposition is a comment or a sample with the label slot") {
  RelayMetrics metrics(2);
  metrics.confirmed_lsn.set(Lsn{1});
  metrics.server_wal_lsn.set(Lsn{2});
  metrics.oldest_unconfirmed_commit.set(RelayMetrics::kNoCommitWaiting);
  const std::regex comment(R"(# (HELP|TYPE) walrelay_[a-z_]+ .+)");
  const std::regex sample(R"(walrelay_[a-z_]+\{slot="orders"(,[a-z_]+="([^"\\]|\\.)*")*\} [-+0-9.eInf]+)");
  std::istringstream lines(text(metrics));
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK((std::regex_match(line, comment) || std::regex_match(line, sample)));
  }
}

TEST_CASE("what is not known is left out of the exposition") {
  RelayMetrics metrics(2);
  for (const auto* name :
       {"walrelay_lag_bytes", "walrelay_lag_seconds", "walrelay_slot_retained_bytes", "walrelay_slot_safe_bytes",
        "walrelay_confirmed_lsn", "walrelay_frontier_lsn", "walrelay_server_wal_lsn", "walrelay_sink_"}) {
    CHECK_THAT(text(metrics), !ContainsSubstring(name));
  }
  metrics.confirmed_lsn.set(Lsn{0x1'0000'0001});
  metrics.server_wal_lsn.set(Lsn{0x1'0000'0001});
  CHECK_THAT(text(metrics), ContainsSubstring("walrelay_confirmed_lsn{slot=\"orders\"} 4294967297\n"));
  CHECK_THAT(text(metrics), ContainsSubstring("walrelay_lag_bytes{slot=\"orders\"} 0\n"));
}

TEST_CASE("every metric of the documentation is there once all is known") {
  RelayMetrics metrics(2);
  for (auto* gauge : {&metrics.confirmed_lsn, &metrics.frontier_lsn, &metrics.server_wal_lsn,
                      &metrics.slot_retained_bytes, &metrics.slot_safe_bytes, &metrics.oldest_unconfirmed_commit,
                      &metrics.sink_queue_events, &metrics.sink_round_trip_us}) {
    gauge->set(1);
  }
  for (const auto* name : {"lag_bytes",
                           "lag_seconds",
                           "slot_retained_bytes",
                           "slot_safe_bytes",
                           "confirmed_lsn",
                           "frontier_lsn",
                           "server_wal_lsn",
                           "events_total",
                           "invalid_traceparent_total",
                           "transactions_total",
                           "in_flight_events",
                           "in_flight_bytes",
                           "commit_to_ack_seconds",
                           "replication_connected",
                           "active",
                           "reconnects_total",
                           "backpressure_seconds_total",
                           "dead_letters_total",
                           "sink_queue_events",
                           "sink_round_trip_seconds",
                           "build_info",
                           "ready",
                           "start_time_seconds"}) {
    CHECK_THAT(text(metrics), ContainsSubstring("# TYPE walrelay_" + std::string(name) + " "));
  }
}

TEST_CASE("events are counted by outbox and result, with the label escaped") {
  RelayMetrics metrics(2);
  metrics.events(0, EventResult::delivered).add(3);
  metrics.events(1, EventResult::dead_letter).add(2);
  CHECK_THAT(text(metrics),
             ContainsSubstring(R"(walrelay_events_total{slot="orders",outbox="public.outbox",result="delivered"} 3)"));
  CHECK_THAT(text(metrics),
             ContainsSubstring(R"(walrelay_events_total{slot="orders",outbox="we\"ird\\na",result="dead_letter"} 2)"));
}

TEST_CASE("the histogram's buckets are cumulative and end with all") {
  RelayMetrics metrics(2);
  metrics.commit_to_ack.observe(std::chrono::microseconds(500));
  metrics.commit_to_ack.observe(std::chrono::milliseconds(4), 2);
  metrics.commit_to_ack.observe(std::chrono::hours(1));
  const auto exposition = text(metrics);
  CHECK_THAT(exposition, ContainsSubstring("walrelay_commit_to_ack_seconds_bucket{slot=\"orders\",le=\"0.001\"} 1\n"));
  CHECK_THAT(exposition, ContainsSubstring("walrelay_commit_to_ack_seconds_bucket{slot=\"orders\",le=\"0.0025\"} 1\n"));
  CHECK_THAT(exposition, ContainsSubstring("walrelay_commit_to_ack_seconds_bucket{slot=\"orders\",le=\"300\"} 3\n"));
  CHECK_THAT(exposition, ContainsSubstring("walrelay_commit_to_ack_seconds_bucket{slot=\"orders\",le=\"+Inf\"} 4\n"));
  CHECK_THAT(exposition, ContainsSubstring("walrelay_commit_to_ack_seconds_count{slot=\"orders\"} 4\n"));
}

TEST_CASE("a pause that goes on shows in the back-pressure at each scrape") {
  SetClock clock;
  RelayMetrics metrics(2);
  metrics.backpressure.start(clock.now());
  clock.advance(std::chrono::milliseconds(2500));
  CHECK_THAT(text(metrics, clock), ContainsSubstring("walrelay_backpressure_seconds_total{slot=\"orders\"} 2.5\n"));
}

}  // namespace walrelay::test
