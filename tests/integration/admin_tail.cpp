// `walrelay tail`.

#include <csignal>
#include <cstdlib>
#include <sstream>

#include "tests/integration/admin_support.h"
#include "tests/support/json_value.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

class TailProcess {
 public:
  explicit TailProcess(AdminFixture& admin, std::vector<std::string> more = {})
      : process_(WALRELAY_PROGRAM, arguments(admin, std::move(more))) {}

  [[nodiscard]] bool started() {
    return wait_until(seconds(20), [&] { return process_.errors().find("nothing is confirmed") != std::string::npos; });
  }
  [[nodiscard]] bool prints(const std::string& text) {
    return wait_until(seconds(20), [&] { return process_.output().find(text) != std::string::npos; });
  }
  [[nodiscard]] Process& process() { return process_; }

 private:
  static std::vector<std::string> arguments(AdminFixture& admin, std::vector<std::string> more) {
    std::vector<std::string> all = {
        "tail",       "--dsn",   admin.database().dsn(), "--slot",   admin.name(), "--publication",
        admin.name(), "--table", "public.outbox",        "--preset", "standard"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  Process process_;
};

void insert(AdminFixture& admin, const std::string& type) {
  admin.database().exec("INSERT INTO outbox (id, occurred_at, type, payload) VALUES (gen_random_uuid(), now(), '" +
                        type + "', '{\"n\": 1}')");
}

TEST_CASE("tail prints events from now on, moves no slot and leaves none behind", "[versions]") {
  AdminFixture admin;
  REQUIRE(admin.init().status == 0);
  insert(admin, "before");
  const auto confirmed = "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = current_database()";
  const auto position = admin.database().value(confirmed);
  TailProcess tail(admin);
  INFO(tail.process().errors());
  REQUIRE(tail.started());
  insert(admin, "after");
  CHECK(tail.prints("\"outbox.after\""));
  CHECK(tail.process().output().find("outbox.before") == std::string::npos);
  CHECK(admin.database().value(confirmed) == position);

  tail.process().signal(SIGTERM);
  CHECK(tail.process().wait(seconds(10)) == ExitStatus{143, 0});
  CHECK(wait_until(seconds(10),
                   [&] { return admin.count("pg_replication_slots WHERE database = current_database()") == "1"; }));
}

TEST_CASE("tail prints what fits its filters, one object a line, and ends at its limit") {
  AdminFixture admin;
  REQUIRE(admin.init().status == 0);
  TailProcess tail(admin, {"--type", "wanted", "--topic", "outbox.wanted", "--limit", "2"});
  INFO(tail.process().errors());
  REQUIRE(tail.started());
  for (const auto* type : {"other", "wanted", "other", "wanted", "wanted"}) insert(admin, type);
  CHECK(tail.process().wait(seconds(20)) == ExitStatus{0, 0});
  std::istringstream lines(tail.process().output());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    CHECK(json_value(line, "/topic") == "outbox.wanted");
  }
  CHECK(count == 2);
}

TEST_CASE("tail shows rows of partitions under the outbox that they belong to") {
  AdminFixture admin;
  admin.database().exec(
      "CREATE TABLE outbox (id uuid, occurred_at timestamptz, type text, payload jsonb) PARTITION BY RANGE "
      "(occurred_at); "
      "CREATE TABLE outbox_all PARTITION OF outbox DEFAULT; CREATE PUBLICATION " +
      admin.name() + " FOR TABLE outbox WITH (publish = 'insert')");
  TailProcess tail(admin);
  INFO(tail.process().errors());
  REQUIRE(tail.started());
  insert(admin, "leaf");
  CHECK(tail.prints("\"outbox.leaf\""));
}

TEST_CASE("tail tells that the publication is missing") {
  AdminFixture admin;
  admin.database().exec("CREATE TABLE outbox (id uuid, type text, payload jsonb)");
  const auto result = admin.run("tail", {"--table", "public.outbox", "--preset", "standard"});
  CHECK(result.status == 3);
  CHECK_THAT(result.errors, ContainsSubstring("there is no publication"));
}

}  // namespace
}  // namespace walrelay::test
