// Two weeks in as many seconds as WALRELAY_SOAK_SECONDS says: busy days, quiet nights, restarts of broker and server,
// and retention that keeps two days. In the end every event is there once, and neither table, retained WAL nor memory
// has grown.

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <set>

#include "tests/integration/fault_support.h"
#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr int kDays = 14;
constexpr int kDaysKept = 2;
constexpr double kTwoSegments = 2.0 * 16 * 1024 * 1024;

milliseconds length_of_a_day() {
  const char* text = std::getenv("WALRELAY_SOAK_SECONDS");
  return milliseconds(1000 * (text == nullptr ? 24 : std::atoi(text)) / kDays);
}

struct Evening {
  std::size_t written = 0;  // since the beginning
  std::size_t rows = 0;     // in the table
  double table_bytes = 0;
  double retained_bytes = 0;
  double relay_bytes = 0;

  [[nodiscard]] std::string text() const {
    return fmt::format("{} written, {} in the table, table {:.0f} kB, retained WAL {:.0f} kB, relay {:.0f} kB", written,
                       rows, table_bytes / 1024, retained_bytes / 1024, relay_bytes / 1024);
  }
};

double resident_bytes(int pid) {
  const auto status = read_file(fmt::format("/proc/{}/status", pid));
  const auto at = status.find("VmRSS:");
  return at == std::string::npos ? 0 : 1024 * std::stod(status.substr(at + 6));
}

// Rows in transactions of ten, each told in a ledger that retention leaves alone, over every restart.
class Service {
 public:
  explicit Service(std::string dsn) : dsn_(std::move(dsn)) {}

  void work() {
    try {
      if (!session_) session_ = std::make_unique<PgSession>(dsn_);
      session_->exec(
          "WITH new AS (INSERT INTO outbox (type, payload) SELECT 'T', to_jsonb(repeat('x', 200)) FROM "
          "generate_series(1, 10) "
          "RETURNING id) INSERT INTO ledger SELECT id FROM new");
    } catch (const std::runtime_error&) {  // the server is away
      session_.reset();
      std::this_thread::sleep_for(milliseconds(50));
    }
  }

 private:
  std::string dsn_;
  std::unique_ptr<PgSession> session_;
};

class Soak {
 public:
  explicit Soak(milliseconds day) : day_(day) {
    admin().exec(
        "CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), occurred_at timestamptz NOT NULL DEFAULT "
        "clock_timestamp(), type text, payload jsonb) WITH (autovacuum_vacuum_scale_factor = 0, "
        "autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);"
        "CREATE INDEX ON outbox (occurred_at); CREATE TABLE ledger (id uuid)");
    admin().exec(fmt::format("CREATE PUBLICATION {} FOR TABLE outbox WITH (publish = 'insert')", name_));
    admin().exec(fmt::format("SELECT pg_create_logical_replication_slot('{}', 'pgoutput')", name_));
    relay_.emplace(fmt::format(
        "[postgres]\ndsn = \"{0}\"\nslot = \"{1}\"\npublication = \"{1}\"\n[[outbox]]\ntable = \"public.outbox\"\n"
        "preset = \"standard\"\ntopic = \"{1}\"\n[outbox.retention]\nkeep = \"{2}ms\"\ninterval = \"1s\"\nbatch = "
        "2000\n"
        "[sink.kafka]\n\"bootstrap.servers\" = \"{3}\"\n",
        server_.dsn(), name_, std::max<std::int64_t>(1000, kDaysKept * day.count()), broker_.address()));
  }

  [[nodiscard]] RelayProcess& relay() { return *relay_; }

  Evening live_through(int day) {
    {
      Service service(server_.dsn());
      const Background busy([&] { service.work(); }, milliseconds(10));
      std::this_thread::sleep_for(day_ / 2);
      if (day % 7 == 2) broker_.restart();
      if (day % 7 == 4) server_.restart();
      std::this_thread::sleep_for(day_ / 4);
    }
    std::this_thread::sleep_for(day_ / 4);
    return look();
  }

  // After which there is no more to do for anybody.
  Evening last_evening() {
    const std::string confirmed = fmt::format("SELECT confirmed_flush_lsn >= '{}' FROM pg_replication_slots",
                                              admin().value("SELECT pg_current_wal_insert_lsn()"));
    CHECK(wait_until(seconds(30), [&] { return admin().value(confirmed) == "t"; }));
    const auto rest_is_gone = [&] { return admin().value("SELECT count(*) FROM outbox") == "0"; };
    CHECK(wait_until(kDaysKept * day_ + seconds(20), rest_is_gone));
    admin().exec("CHECKPOINT");
    CHECK(wait_until(seconds(20), [&] { return look().retained_bytes < kTwoSegments; }));
    return look();
  }

  // As the ledger has it, once each.
  void check_events() {
    std::set<std::string> written;
    for (const auto& row : admin().query("SELECT id FROM ledger")) written.insert(row[0].value());
    std::set<std::string> arrived;
    std::size_t repeats = 0;
    for (const auto& record : TopicReader(broker_.address(), name_).read_to_end()) {
      if (!arrived.insert(record.header("id").value_or("")).second) ++repeats;
    }
    CHECK(arrived.size() == written.size());
    const bool exact = arrived == written;  // not for Catch to print
    CHECK(exact);
    CHECK(repeats == 0);
  }

 private:
  PgSession& admin() { return server_.session(); }

  Evening look() {
    Evening evening;
    evening.written = std::stoul(admin().value("SELECT count(*) FROM ledger"));
    evening.rows = std::stoul(admin().value("SELECT count(*) FROM outbox"));
    evening.table_bytes = std::stod(admin().value("SELECT pg_table_size('outbox')"));
    evening.retained_bytes =
        std::stod(admin().value("SELECT pg_current_wal_lsn() - restart_lsn FROM pg_replication_slots"));
    evening.relay_bytes = resident_bytes(relay_->process().pid());
    return evening;
  }

  milliseconds day_;
  PostgresServer server_{{{"autovacuum_naptime", "1s"}, {"checkpoint_timeout", "30s"}}};
  KafkaBroker broker_;
  std::string name_ = unique_name();
  std::optional<RelayProcess> relay_;
};

TEST_CASE("two weeks of days, nights, restarts and retention leave every event once, and nothing that grows",
          "[.soak]") {
  Soak soak(length_of_a_day());
  REQUIRE(soak.relay().wait_ready());
  std::vector<Evening> evenings;
  for (int day = 0; day < kDays; ++day) {
    evenings.push_back(soak.live_through(day));
    std::cout << "day " << day + 1 << ": " << evenings.back().text() << '\n' << std::flush;
  }
  const Evening last = soak.last_evening();
  std::cout << "afterwards: " << last.text() << '\n' << std::flush;
  INFO(soak.relay().log());
  soak.check_events();
  REQUIRE(last.written > 1000);

  // Each week has a restart of either server, during which rows wait.
  std::array<double, 2> highest_table{};
  for (std::size_t day = 0; day < evenings.size(); ++day) {
    const Evening& evening = evenings[day];
    double& highest = highest_table[day * 2 / evenings.size()];
    highest = std::max(highest, evening.table_bytes);
    if (day < kDaysKept + 3) continue;
    const auto written_lately = evening.written - evenings.at(day - kDaysKept - 2).written;
    CHECK(evening.rows <= written_lately + 3000);  // those of a run that is under way
  }
  CHECK(highest_table[1] < 2 * highest_table[0] + 1'000'000);
  CHECK(last.relay_bytes < evenings.at(kDaysKept).relay_bytes + 12'000'000);
  CHECK(soak.relay().metric("walrelay_retention_deleted_rows_total") > 1000.0);
}

}  // namespace
}  // namespace walrelay::test
