#include "connector/observe/metrics.h"

#include <chrono>

#include "tests/support/catch.h"
#include "tests/support/set_clock.h"

namespace walrelay::test {

using std::chrono::microseconds;
using std::chrono::seconds;

TEST_CASE("lag in bytes is the server's position minus the confirmed one") {
  RelayMetrics metrics(1);
  metrics.server_wal_lsn.set(Lsn{1000});
  metrics.confirmed_lsn.set(Lsn{400});
  CHECK(metrics.lag_bytes() == 600U);
}

TEST_CASE("lag in bytes is never negative") {
  RelayMetrics metrics(1);
  metrics.server_wal_lsn.set(Lsn{1000});
  metrics.confirmed_lsn.set(Lsn{1001});  // the server's position is asked for only once a second
  CHECK(metrics.lag_bytes() == 0U);
}

TEST_CASE("lag is absent, not 0, while the server is away") {
  RelayMetrics metrics(1);
  CHECK_FALSE(metrics.lag_bytes());
  CHECK_FALSE(metrics.lag_seconds(0));
  metrics.confirmed_lsn.set(Lsn{400});
  metrics.oldest_unconfirmed_commit.set(RelayMetrics::kNoCommitWaiting);
  metrics.server_wal_lsn.set(Lsn{400});
  CHECK(metrics.lag_bytes() == 0U);
  CHECK(metrics.lag_seconds(0) == 0.0);
  metrics.server_wal_lsn.clear();
  CHECK_FALSE(metrics.lag_bytes());
  CHECK_FALSE(metrics.lag_seconds(0));
}

TEST_CASE("lag in seconds grows though nothing is written to the metrics") {
  SetClock clock;
  RelayMetrics metrics(1);
  metrics.server_wal_lsn.set(Lsn{1});
  metrics.oldest_unconfirmed_commit.set(clock.wall());
  CHECK(metrics.lag_seconds(clock.wall()) == 0.0);
  clock.advance(seconds(90));
  CHECK(metrics.lag_seconds(clock.wall()) == 90.0);
}

TEST_CASE("lag in seconds is not negative where the server's clock is ahead") {
  RelayMetrics metrics(1);
  metrics.server_wal_lsn.set(Lsn{1});
  metrics.oldest_unconfirmed_commit.set(PgTime{5'000'000});
  CHECK(metrics.lag_seconds(1'000'000) == 0.0);
}

TEST_CASE("lag in seconds is absent on a standby, which knows no commits") {
  RelayMetrics metrics(1);
  metrics.server_wal_lsn.set(Lsn{1});
  CHECK_FALSE(metrics.lag_seconds(1));
}

TEST_CASE("a stopwatch counts the time that is still running") {
  SetClock clock;
  Stopwatch watch;
  CHECK(watch.total(clock.now()) == seconds(0));
  watch.start(clock.now());
  clock.advance(seconds(3));
  CHECK(watch.running());
  CHECK(watch.total(clock.now()) == seconds(3));
  watch.stop(clock.now());
  clock.advance(seconds(5));
  CHECK(watch.total(clock.now()) == seconds(3));
  watch.start(clock.now());
  clock.advance(seconds(1));
  watch.start(clock.now());  // runs already
  CHECK(watch.total(clock.now()) == seconds(4));
}

TEST_CASE("a heartbeat that was never given has no age") {
  SetClock clock;
  Heartbeat heartbeat;
  CHECK(heartbeat.age(clock.now()) == seconds(0));
  heartbeat.beat(clock.now());
  clock.advance(seconds(7));
  CHECK(heartbeat.age(clock.now()) == seconds(7));
}

TEST_CASE("a latency falls into the first bucket whose bound it does not exceed") {
  LatencyHistogram histogram;
  histogram.observe(microseconds(1000));
  histogram.observe(microseconds(1001));
  histogram.observe(seconds(300));
  histogram.observe(seconds(301), 2);
  CHECK(histogram.count_in_bucket(0) == 1);
  CHECK(histogram.count_in_bucket(1) == 1);
  CHECK(histogram.count_in_bucket(LatencyHistogram::kUpperBoundsSeconds.size() - 1) == 1);
  CHECK(histogram.count_in_bucket(LatencyHistogram::kUpperBoundsSeconds.size()) == 2);
  CHECK(histogram.sum_us() == 2001U + 902'000'000U);
}

TEST_CASE("a negative latency counts as none") {
  LatencyHistogram histogram;
  histogram.observe(microseconds(-5));
  CHECK(histogram.count_in_bucket(0) == 1);
  CHECK(histogram.sum_us() == 0);
}

}  // namespace walrelay::test
