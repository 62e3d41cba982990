// What a backfill needs and says that it lacks, before anything is changed.

#include "tests/integration/admin_support.h"

namespace walrelay::test {
namespace {

// An outbox table of preset standard with a row in it, no publication and no slot.
class Prepared {
 public:
  Prepared() {
    admin_.database().exec(
        "CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), occurred_at timestamptz DEFAULT now(), "
        "type text, payload jsonb, processed_at timestamptz); INSERT INTO outbox (type, payload) VALUES ('T', '1')");
  }
  [[nodiscard]] AdminFixture& admin() { return admin_; }
  [[nodiscard]] CommandResult init(const std::string& rows, const std::vector<std::string>& more = {}) {
    std::vector<std::string> flags{"--table", "public.outbox", "--sink", "file", "--backfill", rows};
    flags.insert(flags.end(), {"--set", "sink.file.path=" + directory_.file("events")});
    flags.insert(flags.end(), more.begin(), more.end());
    return admin_.init(flags);
  }
  [[nodiscard]] bool untouched() {
    return admin_.count("pg_publication") == "0" &&
           admin_.count("pg_replication_slots WHERE database = current_database()") == "0";
  }

 private:
  AdminFixture admin_;
  TempDir directory_;
};

TEST_CASE("a backfill of unprocessed rows says how to name the column that tells them") {
  Prepared prepared;
  const auto refused = prepared.init("unprocessed");
  CHECK(refused.status == 2);
  CHECK_THAT(refused.errors, ContainsSubstring("--set outbox.0.processed_at=processed_at"));
  CHECK(prepared.untouched());
  const auto named = prepared.init("unprocessed", {"--set", "outbox.0.processed_at=processed_at"});
  INFO(named.errors);
  CHECK(named.status == 0);
  CHECK_THAT(named.errors, ContainsSubstring("1 row published"));
}

TEST_CASE("a backfill of a slot that is there is refused, and says what to do instead") {
  Prepared prepared;
  REQUIRE(prepared.init("all").status == 0);
  const auto refused = prepared.init("all");
  CHECK(refused.status == 1);
  CHECK_THAT(refused.errors, ContainsSubstring("is there already"));
  CHECK_THAT(refused.errors, ContainsSubstring("walrelay replay"));
}

TEST_CASE("a role that may not read the table gets the grant named") {
  Prepared prepared;
  const auto role = prepared.admin().name() + "_relay";
  prepared.admin().database().exec("CREATE ROLE " + role + " LOGIN REPLICATION");
  const auto refused = prepared.init("all", {"--dsn", prepared.admin().database().dsn() + " user=" + role});
  CHECK(refused.status == 1);
  CHECK_THAT(refused.errors, ContainsSubstring("GRANT SELECT ON \"public\".\"outbox\" TO \"" + role + "\""));
  CHECK(prepared.untouched());
  prepared.admin().database().exec("DROP ROLE " + role);
}

TEST_CASE("a broker that does not answer ends a backfill before anything is made") {
  Prepared prepared;
  const auto refused = prepared.init("all", {"--sink", "kafka", "--brokers", "127.0.0.1:1"});
  CHECK(refused.status == 1);
  CHECK_THAT(refused.errors, ContainsSubstring("127.0.0.1:1"));
  CHECK(prepared.untouched());
}

TEST_CASE("a choice of rows that is none, and standard output as the sink, are refused") {
  Prepared prepared;
  const auto unknown = prepared.init("some");
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.errors, ContainsSubstring("unprocessed, all, since=TIME"));
  CHECK(prepared.init("all", {"--sink", "stdout"}).status == 2);
  CHECK(prepared.untouched());
}

TEST_CASE("init --print tells that rows are published, and changes nothing") {
  Prepared prepared;
  const auto printed = prepared.init("all", {"--print"});
  CHECK(printed.status == 0);
  CHECK_THAT(printed.output, ContainsSubstring("init publishes all rows"));
  CHECK(prepared.untouched());
}

}  // namespace
}  // namespace walrelay::test
