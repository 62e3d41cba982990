#include "tests/torture/load.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "tests/support/kafka_broker.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr int kPartitions = 3;
constexpr int kKeysOfAWriter = 20;
constexpr int kMarked = 1;   // table whose rows are marked
constexpr int kDeleted = 2;  // table whose rows are deleted, and kept in another one for the check

std::size_t below(std::mt19937_64& random, std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
}

struct Row {
  std::string key;
  std::string value;
  std::uint64_t n = 0;
};

void check_table(PgSession& session, int table, const std::vector<TopicRecord>& records, TortureResult& result) {
  std::map<std::string, Row> rows;
  const auto kept = table == kDeleted ? "written" : fmt::format("outbox_{}", table);
  for (const auto& row : session.query(fmt::format("SELECT id, key, n, payload FROM {}", kept))) {
    rows[row[0].value()] = {row[1].value(), row[3].value(), std::stoull(row[2].value())};
  }
  std::set<std::string> seen;
  std::map<std::string, std::uint64_t> last_of_key;
  for (const auto& record : records) {
    const auto row = rows.find(record.header("id").value_or(""));
    if (row == rows.end() || record.key != row->second.key || record.value != row->second.value) {
      ++result.foreign;
    } else if (!seen.insert(row->first).second) {
      ++result.repeats;
    } else {
      auto& last = last_of_key[row->second.key];
      if (row->second.n < last) ++result.disordered;
      last = std::max(last, row->second.n);
    }
  }
  result.rows += rows.size();
  result.lost += rows.size() - seen.size();
}

}  // namespace

TortureLoad::TortureLoad(PostgresServer& server, std::string name, const std::string& broker, std::uint64_t seed)
    : server_(server), name_(std::move(name)), states_(kWriters) {
  for (int writer = 0; writer < kWriters; ++writer)
    states_[static_cast<std::size_t>(writer)].random.seed(seed + static_cast<std::uint64_t>(writer));
  for (int table = 0; table < kTables; ++table) {
    create_topic(broker, topic(table), kPartitions);
    server_.exec(fmt::format(
        "CREATE TABLE outbox_{} (id text PRIMARY KEY, key text NOT NULL, n bigint NOT NULL, payload text NOT NULL, "
        "processed_at timestamptz)",
        table));
  }
  server_.exec(
      fmt::format("CREATE TABLE written (LIKE outbox_{0});"
                  "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO written SELECT NEW.*; "
                  "RETURN NULL; "
                  "END';"
                  "CREATE TRIGGER keep AFTER INSERT ON outbox_{0} FOR EACH ROW EXECUTE FUNCTION keep()",
                  kDeleted));
}

void TortureLoad::start() {
  for (int writer = 0; writer < kWriters; ++writer) {
    writers_.push_back(std::make_unique<Background>([this, writer] { write(writer); }, milliseconds(10)));
  }
}

std::string TortureLoad::topic(int table) const { return fmt::format("{}.{}", name_, table); }

std::string TortureLoad::outboxes() const {
  std::string text;
  for (int table = 0; table < kTables; ++table) {
    text += fmt::format(
        "[[outbox]]\ntable = \"public.outbox_{}\"\nid = \"{{id}}\"\ntopic = \"{}\"\nkey = \"{{key}}\"\n"
        "value = \"{{payload}}\"\n",
        table, topic(table));
    if (table == kMarked) text += "processed_at = \"processed_at\"\n";
    if (table == kDeleted) text += "[outbox.retention]\nafter = \"ack\"\n";
  }
  return text;
}

// One transaction. The server may go away at any moment: then nobody knows whether it was committed, which the table
// tells later.
void TortureLoad::write(int writer) {
  Writer& state = states_[static_cast<std::size_t>(writer)];
  try {
    if (!state.session) state.session = std::make_unique<PgSession>(server_.dsn());
    const auto rows = below(state.random, 10) == 0 ? 500 : 1 + below(state.random, 20);
    state.session->exec("BEGIN");
    for (std::size_t i = 0; i < rows; ++i) {
      const bool hot = below(state.random, 2) == 0;
      const auto key = hot ? 0 : below(state.random, kKeysOfAWriter);
      const auto n = ++state.rows;
      state.session->exec(
          fmt::format("INSERT INTO outbox_{0} VALUES ('{1}-{2}', 'w{1}k{3}', {2}, repeat('payload {2} ', {4}))",
                      below(state.random, kTables), writer, n, key, 1 + below(state.random, 50)));
    }
    state.session->exec(below(state.random, 8) == 0 ? "ROLLBACK" : "COMMIT");
  } catch (const std::runtime_error&) {  // the server is away, as was wanted
    state.session.reset();
    std::this_thread::sleep_for(milliseconds(100));
  }
}

std::string TortureResult::text() const {
  return fmt::format("{} rows: {} lost, {} foreign, {} disordered, {} repeats, {} not written back", rows, lost,
                     foreign, disordered, repeats, unwritten);
}

TortureResult check_torture(PgSession& session, const TortureLoad& load, const std::string& broker) {
  TortureResult result;
  for (int table = 0; table < TortureLoad::kTables; ++table) {
    check_table(session, table, TopicReader(broker, load.topic(table)).read_to_end(), result);
  }
  result.unwritten = std::stoul(session.value(fmt::format(
      "SELECT (SELECT count(*) FROM outbox_{} WHERE processed_at IS NULL) + (SELECT count(*) FROM outbox_{})", kMarked,
      kDeleted)));
  return result;
}

}  // namespace walrelay::test
