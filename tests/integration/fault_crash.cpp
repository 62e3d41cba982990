// kill -9 of the relay, at moments that nobody chose.

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <mutex>
#include <random>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/json_value.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

unsigned seed_of_this_run() {
  const char* given = std::getenv("WALRELAY_TEST_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::stoul(given)) : std::random_device{}();
  std::cout << "WALRELAY_TEST_SEED=" << seed << '\n' << std::flush;
  return seed;
}

// Writes rows in the background and remembers up to which row all was committed at which position.
class MeasuredLoad {
 public:
  explicit MeasuredLoad(Outbox& outbox, const std::string& dsn)
      : session_(dsn),
        load_(
            [this, &outbox] {
              outbox.insert(20);
              const auto end = Lsn::parse(session_.value("SELECT pg_current_wal_insert_lsn()")).value();
              const std::lock_guard lock(mutex_);
              committed_.emplace_back(end, outbox.inserted());
            },
            milliseconds(5)) {}

  void stop() { load_.stop(); }

  // The highest row that is certainly confirmed where `confirmed` is.
  [[nodiscard]] std::size_t rows_before(Lsn confirmed) const {
    const std::lock_guard lock(mutex_);
    std::size_t rows = 0;
    for (const auto& [end, row] : committed_) {
      if (end <= confirmed) rows = row;
    }
    return rows;
  }

 private:
  PgSession session_;
  mutable std::mutex mutex_;
  std::vector<std::pair<Lsn, std::size_t>> committed_;
  Background load_;
};

TEST_CASE("a relay killed 20 times under load loses nothing, keeps order, and repeats only what was not confirmed") {
  constexpr int kKills = 20;
  std::mt19937 random(seed_of_this_run());
  std::uniform_int_distribution<int> moment(0, 400);
  TestDatabase database;
  Outbox outbox(database.dsn(), database.dsn(), database.name(), shared_kafka());
  MeasuredLoad load(outbox, database.dsn());
  TopicReader reader(shared_kafka(), outbox.topic());
  std::size_t confirmed_rows = 0;
  std::size_t repeats_of_confirmed = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    RelayProcess relay(outbox.configuration());
    const bool ready = relay.wait_ready();
    INFO(relay.log());
    REQUIRE(ready);
    std::this_thread::sleep_for(milliseconds(moment(random)));
    relay.process().signal(SIGKILL);
    REQUIRE(relay.process().wait(seconds(5)));
    for (const auto& record : reader.read_to_end()) {
      if (std::stoul(json_value(*record.value, "/n")) <= confirmed_rows) ++repeats_of_confirmed;
    }
    confirmed_rows = load.rows_before(outbox.confirmed());
  }
  load.stop();
  RelayProcess relay(outbox.configuration());
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(confirmed_rows > 0);
  CHECK(repeats_of_confirmed == 0);
  CHECK(comparison.complete());
  CHECK(outbox.wait_confirmed());
}

}  // namespace
}  // namespace walrelay::test
