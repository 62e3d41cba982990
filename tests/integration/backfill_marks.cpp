// What the commands that publish from the table leave in its rows.

#include <fmt/format.h>

#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/outbox_case.h"
#include "tests/support/shared_servers.h"

namespace walrelay::test {
namespace {

// Rows from before the slot, in a table of preset standard whose events go to one topic.
class OldRows {
 public:
  explicit OldRows(const std::string& lines, const std::string& settings = "") {
    outbox_.exec(
        "CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), occurred_at timestamptz NOT NULL DEFAULT "
        "now(), type text NOT NULL, payload jsonb, processed_at timestamptz, attempts int, error text)");
    outbox_.add_outbox("table = \"public.outbox\"\npreset = \"standard\"\n" + lines);
    outbox_.add_settings("[delivery]\ndead_letter_topic = \"" + outbox_.name() + ".dead\"\n" + settings);
    create_topic(shared_kafka(), topic());
  }

  [[nodiscard]] OutboxCase& outbox() { return outbox_; }
  [[nodiscard]] std::string topic() { return "outbox." + outbox_.name(); }
  void insert(int rows) { insert(rows, outbox_.name()); }
  void insert(int rows, const std::string& type) {
    outbox_.exec(fmt::format(
        "INSERT INTO outbox (type, payload) SELECT '{}', to_jsonb(n) FROM generate_series(1, {}) n", type, rows));
  }
  [[nodiscard]] int count(const std::string& condition) {
    return std::stoi(outbox_.database().value("SELECT count(*) FROM outbox WHERE " + condition));
  }
  [[nodiscard]] std::size_t published() { return OutboxCase::records(topic()).size(); }
  // Returns what it says.
  std::string run(const std::string& command, const std::vector<std::string>& arguments, int status = 0) {
    const auto result = outbox_.run(command, arguments);
    INFO(result.errors);
    CHECK(result.status == status);
    return result.errors;
  }

 private:
  OutboxCase outbox_;
};

const std::string kMarked = "processed_at = \"processed_at\"\nattempts = \"attempts\"\nerror = \"error\"";

TEST_CASE("rows that init --backfill has published are marked, and recover publishes none of them again") {
  OldRows t(kMarked);
  t.insert(12'000);  // more than are marked in one go
  t.outbox().exec("UPDATE outbox SET processed_at = '2020-01-01' WHERE payload IN ('1', '2')");
  CHECK_THAT(t.run("init", {"--backfill", "unprocessed"}), ContainsSubstring("\n11998 rows marked\n"));
  CHECK(t.count("processed_at > now() - interval '1 minute'") == 11'998);
  CHECK(t.count("processed_at = '2020-01-01'") == 2);
  CHECK(t.count("attempts IS NULL AND error IS NULL") == 12'000);
  CHECK(t.published() == 11'998);
  CHECK_THAT(t.run("recover", {"--yes"}), ContainsSubstring("\n0 rows published\n"));
  CHECK(t.published() == 11'998);
}

TEST_CASE("rows that become dead letters are not marked and tell why, as do those that halt a backfill") {
  OldRows t(kMarked);
  t.insert(1, "no topic!");
  t.insert(3);
  CHECK_THAT(t.run("init", {"--backfill", "unprocessed"}, 4), ContainsSubstring("cannot be delivered"));
  CHECK(t.count("processed_at IS NULL AND attempts = 1 AND error LIKE 'topic: %'") == 1);
  CHECK(t.count("attempts IS NULL AND error IS NULL") == 3);

  const auto said = t.run("init", {"--backfill", "unprocessed", "--set", "delivery.on_error=dead-letter"});
  CHECK_THAT(said, ContainsSubstring("4 rows published, 1 of them as dead letters") &&
                       ContainsSubstring("3 rows marked, 1 failure told in the table"));
  CHECK(t.count("processed_at IS NULL AND attempts = 2 AND error LIKE 'topic: %'") == 1);
  CHECK(t.count("processed_at IS NOT NULL AND attempts IS NULL AND error IS NULL") == 3);
  CHECK(t.published() == 3);
}

TEST_CASE("no row is marked before the events of its round are acknowledged") {
  OldRows t(kMarked + "\nkey = \"{error}\"");  // NULL
  const auto keyed = t.outbox().name() + "_keyed";
  create_topic(shared_kafka(), "outbox." + keyed, 1,
               {{"cleanup.policy", "compact"}});  // refuses an event without a key
  t.insert(9'999);
  t.outbox().exec(fmt::format("INSERT INTO outbox (id, type, payload) VALUES ('{}', '{}', '1')",
                              "ffffffff-ffff-ffff-ffff-ffffffffffff", keyed));  // the last one in the key's order
  CHECK_THAT(t.run("init", {"--backfill", "unprocessed"}, 4), ContainsSubstring("cannot be delivered"));
  CHECK(t.count("processed_at IS NOT NULL") == 0);
  CHECK(t.count("attempts = 1") == 1);
}

TEST_CASE("a role that may not write to the table publishes all the same, and is told what to grant") {
  OldRows t(kMarked);
  t.insert(5);
  const auto role = t.outbox().name() + "_reader";
  t.outbox().exec(fmt::format("CREATE ROLE {0} LOGIN REPLICATION; GRANT SELECT ON outbox TO {0}", role));
  t.outbox().set_dsn(t.outbox().database().dsn() + " user=" + role);
  CHECK_THAT(t.run("replay", {"--yes"}),
             ContainsSubstring("5 rows published") && ContainsSubstring("5 rows could not be written to") &&
                 ContainsSubstring("write_back_failed") &&
                 ContainsSubstring(R"(UPDATE ("processed_at", "attempts", "error") ON "public"."outbox" TO )" +
                                   fmt::format("\"{}\"", role)));
  CHECK(t.published() == 5);
  CHECK(t.count("processed_at IS NULL") == 5);
  t.outbox().exec(fmt::format("DROP OWNED BY {0}; DROP ROLE {0}", role));
}

TEST_CASE("a row that somebody has locked keeps no other from being marked, and is told of") {
  OldRows t(kMarked);
  t.insert(5);
  PgSession other(t.outbox().database().dsn());
  other.exec("BEGIN; SELECT FROM outbox LIMIT 1 FOR UPDATE");
  CHECK_THAT(t.run("replay", {"--yes"}), ContainsSubstring("another transaction has locked rows") &&
                                             ContainsSubstring("4 rows marked, 1 row could not be written to"));
  other.exec("COMMIT");
  CHECK(t.count("processed_at IS NOT NULL") == 4);
  CHECK(t.published() == 5);
}

TEST_CASE("with after = \"ack\" the rows that are published from the table are deleted") {
  OldRows t("[outbox.retention]\nafter = \"ack\"", "on_error = \"skip\"\n");
  t.insert(5);
  t.insert(1, "no topic!");
  CHECK_THAT(t.run("init", {"--backfill", "all"}), ContainsSubstring("\n5 rows deleted\n"));
  CHECK(t.published() == 5);
  CHECK(t.count("type = 'no topic!'") == 1);
  CHECK(t.count("true") == 1);
}

}  // namespace
}  // namespace walrelay::test
