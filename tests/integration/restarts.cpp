// What is repeated, and what is not, when the relay stops or is killed: docs/guarantees.md.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tests/support/catch.h"
#include "tests/support/mock_cluster.h"
#include "tests/support/outbox_case.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

using Values = std::vector<std::string>;

// public.outbox (n, payload), key and header id from n.
class RestartOutbox : public OutboxCase {
 public:
  RestartOutbox() {
    exec("CREATE TABLE outbox (n integer PRIMARY KEY, payload text)");
    add_outbox(
        fmt::format("table = \"public.outbox\"\nid = \"{{n}}\"\ntopic = \"{}\"\nkey = \"{{n}}\"\n"
                    "value = \"{{payload}}\"",
                    name()));
    init();
  }
};

Values numbers(int first, int last) {
  Values all;
  for (int i = first; i <= last; ++i) all.push_back(std::to_string(i));
  return all;
}

TEST_CASE("a transaction that is open while the relay stops and starts arrives whole and once", "[versions]") {
  RestartOutbox outbox;
  PgSession a(outbox.database().dsn());
  const auto insert = [](int first, int last) {
    return fmt::format("INSERT INTO outbox SELECT i, i FROM generate_series({}, {}) i", first, last);
  };
  {
    RelayProcess relay(outbox.configuration());
    INFO(relay.log());
    a.exec("BEGIN");
    a.exec(insert(1, 5));
    outbox.exec("INSERT INTO outbox VALUES (100, 'small')");
    REQUIRE(outbox.wait_drained());  // B's row is delivered and confirmed: the slot stands behind A's first rows
    a.exec(insert(6, 10));
    REQUIRE(relay.stop() == ExitStatus{143, 0});
  }
  CHECK(OutboxCase::values(outbox.name()) == Values{"small"});
  a.exec("COMMIT");
  outbox.drain();
  auto expected = numbers(1, 10);
  expected.insert(expected.begin(), "small");
  CHECK(OutboxCase::values(outbox.name()) == expected);
}

TEST_CASE("a relay that is stopped in the midst of a load and started again delivers each row once") {
  RestartOutbox outbox;
  for (int round = 0; round < 3; ++round) {
    RelayProcess relay(outbox.configuration());
    INFO(relay.log());
    for (int i = 0; i < 20; ++i) {
      outbox.exec(fmt::format("INSERT INTO outbox SELECT i, i FROM generate_series({}, {}) i",
                              round * 2000 + i * 100 + 1, round * 2000 + (i + 1) * 100));
    }
    REQUIRE(wait_until(seconds(15),
                       [&] { return relay.metric("walrelay_events_total", {{"result", "delivered"}}) > 0.0; }));
    REQUIRE(relay.stop() == ExitStatus{143, 0});
  }
  outbox.drain();
  CHECK((OutboxCase::values(outbox.name()) == numbers(1, 6'000)));
}

// Five rows of one COPY lie at one LSN; the broker takes a second for each, so that the kill comes after the first.
TEST_CASE("rows of one position, with the relay killed after the first acknowledgement, all arrive, each with its id") {
  RestartOutbox outbox;
  const MockCluster cluster;
  cluster.create_topic(outbox.name(), 1);
  outbox.set_sink(fmt::format("[sink.kafka]\n\"bootstrap.servers\" = \"{}\"", cluster.bootstrap_servers()));
  outbox.add_settings("[delivery]\nmax_in_flight = 1");
  const auto before = outbox.confirmed();
  {
    RelayProcess relay(outbox.configuration());
    INFO(relay.log());
    REQUIRE(relay.wait_ready());
    cluster.set_round_trip(1, 1'000);
    outbox.exec("INSERT INTO outbox SELECT i, i FROM generate_series(1, 5) i");
    REQUIRE(wait_until(seconds(15),
                       [&] { return relay.metric("walrelay_events_total", {{"result", "delivered"}}) == 1.0; }));
    relay.process().signal(SIGKILL);
    REQUIRE(relay.process().wait(seconds(5)) == ExitStatus{-1, SIGKILL});
  }
  const auto commit = outbox.wal_position();
  CHECK_FALSE(outbox.confirmed_reaches(commit));
  cluster.set_round_trip(1, 0);
  const auto delivered_before = read_topic(cluster.bootstrap_servers(), outbox.name(), 1);
  CHECK(delivered_before.size() < 5);
  REQUIRE_FALSE(delivered_before.empty());
  outbox.drain();
  CHECK(outbox.confirmed_reaches(commit));

  const auto all = read_topic(cluster.bootstrap_servers(), outbox.name(), 1);
  REQUIRE(all.size() == delivered_before.size() + 5);  // again from the transaction's start, in order
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto n = i < delivered_before.size() ? i + 1 : i - delivered_before.size() + 1;
    CHECK(all[i].value == std::to_string(n));
    REQUIRE(all[i].headers.size() == 1);
    CHECK(all[i].headers[0].first == "id");
    CHECK(all[i].headers[0].second == std::to_string(n));
  }
}

TEST_CASE("a relay that is killed while it delivers loses nothing, and repeats in order") {
  RestartOutbox outbox;
  {
    RelayProcess relay(outbox.configuration(), {"--set", "delivery.max_in_flight=200"});
    for (int i = 0; i < 100; ++i) {
      outbox.exec(
          fmt::format("INSERT INTO outbox SELECT i, i FROM generate_series({}, {}) i", i * 200 + 1, (i + 1) * 200));
    }
    REQUIRE(wait_until(seconds(15),
                       [&] { return relay.metric("walrelay_events_total", {{"result", "delivered"}}) > 0.0; }));
    relay.process().signal(SIGKILL);
    REQUIRE(relay.process().wait(seconds(5)) == ExitStatus{-1, SIGKILL});
  }
  const auto first_life = OutboxCase::values(outbox.name());
  CHECK((first_life == numbers(1, static_cast<int>(first_life.size()))));
  outbox.drain();
  const auto all = OutboxCase::values(outbox.name());
  const Values second_life(all.begin() + static_cast<std::ptrdiff_t>(first_life.size()), all.end());
  REQUIRE_FALSE(second_life.empty());
  const auto start = std::stoi(second_life.front());
  CHECK((second_life == numbers(start, 20'000)));
  CHECK(start <= static_cast<int>(first_life.size()) + 1);
  CHECK(start % 200 == 1);  // at a transaction's start
}

}  // namespace
}  // namespace walrelay::test
