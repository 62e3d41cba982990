#include "tests/integration/fault_support.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <stdexcept>

#include "tests/support/kafka_broker.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr int kPartitions = 3;

struct Row {
  std::string key;
  std::string value;
  std::size_t n = 0;
};

using Rows = std::map<std::string, Row>;  // by id

Rows rows_of(PgSession& session) {
  Rows rows;
  for (const auto& row : session.query("SELECT id, payload->>'k', payload::text, payload->>'n' FROM outbox")) {
    rows[row[0].value()] = {row[1].value(), row[2].value(), std::stoul(row[3].value())};
  }
  return rows;
}

Comparison compare_with(const Rows& rows, const std::vector<TopicRecord>& records) {
  Comparison result{.rows = rows.size()};
  std::set<std::string> seen;
  std::map<std::string, std::size_t> last_of_key;
  for (const auto& record : records) {
    const auto row = rows.find(record.header("id").value_or(""));
    if (row == rows.end() || record.key != row->second.key || record.value != row->second.value) {
      ++result.foreign;
    } else if (!seen.insert(row->first).second) {
      ++result.repeats;
      result.first_repeat = std::min(result.first_repeat, row->second.n);
    } else {
      auto& last = last_of_key[row->second.key];
      if (row->second.n < last) ++result.disordered;
      last = std::max(last, row->second.n);
    }
  }
  result.missing = rows.size() - seen.size();
  return result;
}

}  // namespace

std::string Comparison::text() const {
  return fmt::format("{} rows: {} missing, {} repeats, {} foreign, {} disordered", rows, missing, repeats, foreign,
                     disordered);
}

Outbox::Outbox(std::string admin, std::string relay_dsn, std::string name, std::string broker)
    : admin_(std::move(admin)), relay_dsn_(std::move(relay_dsn)), name_(std::move(name)), broker_(std::move(broker)) {
  create_topic(broker_, topic(), kPartitions);
  session().exec(
      "CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), occurred_at timestamptz DEFAULT now(), "
      "type text NOT NULL, payload jsonb NOT NULL)");
  session().exec("CREATE TABLE junk (filler text)");
  session().exec(fmt::format("CREATE PUBLICATION {} FOR TABLE outbox WITH (publish = 'insert')", name_));
  session().exec(fmt::format("SELECT pg_create_logical_replication_slot('{}', 'pgoutput')", name_));
}

std::string Outbox::configuration(const std::string& delivery, const std::string& more) const {
  return fmt::format(
      "[postgres]\ndsn = \"{0}\"\nslot = \"{1}\"\npublication = \"{1}\"\n"
      "[[outbox]]\ntable = \"public.outbox\"\npreset = \"standard\"\ntopic = \"{1}\"\nkey = \"{{payload/k}}\"\n"
      "[sink]\ntype = \"kafka\"\n[sink.kafka]\n\"bootstrap.servers\" = \"{2}\"\n[delivery]\n{3}\n{4}\n",
      relay_dsn_, name_, broker_, delivery, more);
}

void Outbox::insert(std::size_t count, std::size_t padding) {
  live(writer_).exec(
      fmt::format("DO $$ BEGIN FOR g IN {0}..{1} LOOP INSERT INTO outbox (type, payload) VALUES ('T', "
                  "jsonb_build_object('k', 'k' || "
                  "g % 7, 'n', g, 'lsn', pg_current_wal_insert_lsn()) || CASE WHEN {2} > 0 THEN "
                  "jsonb_build_object('p', repeat('x', {2})) ELSE '{{}}' "
                  "END); COMMIT; END LOOP; END $$",
                  inserted_.load() + 1, inserted_.load() + count, padding));
  inserted_ += count;
}

void Outbox::insert_at_once(std::size_t count) {
  live(writer_).exec(
      fmt::format("INSERT INTO outbox (type, payload) SELECT 'T', jsonb_build_object('k', 'k' || g % 7, 'n', g) FROM "
                  "generate_series({}, {}) g",
                  inserted_.load() + 1, inserted_.load() + count));
  inserted_ += count;
}

void Outbox::go_on_numbering() {
  inserted_ = std::stoul(session().value("SELECT coalesce(max((payload->>'n')::int), 0) FROM outbox"));
}

// Only a round trip tells whether the server has closed a connection.
PgSession& Outbox::live(std::unique_ptr<PgSession>& session) const {
  const auto answers = [&] {
    const PgResultHandle result{PQexec(session->handle(), "SELECT 1")};
    return PQresultStatus(result.get()) == PGRES_TUPLES_OK;
  };
  if (!session || !answers()) session = std::make_unique<PgSession>(admin_);
  return *session;
}

Lsn Outbox::confirmed() {
  return Lsn::parse(
             session().value("SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '" + name_ + "'"))
      .value();
}

Lsn Outbox::end_of_wal() { return Lsn::parse(session().value("SELECT pg_current_wal_insert_lsn()")).value(); }

std::string Outbox::walsender_pid() {
  return session().value("SELECT active_pid FROM pg_replication_slots WHERE slot_name = '" + name_ + "'");
}

Comparison Outbox::compare(milliseconds at_most) {
  const Rows rows = rows_of(session());
  TopicReader reader(broker_, topic());
  std::vector<TopicRecord> records;
  std::set<std::string> seen;
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (seen.size() < rows.size() && std::chrono::steady_clock::now() < deadline) {
    for (auto& record : reader.read(rows.size() - seen.size(), seconds(1))) {
      seen.insert(record.header("id").value_or(""));
      records.push_back(std::move(record));
    }
  }
  for (auto& record : reader.read_to_end()) records.push_back(std::move(record));
  return compare_with(rows, records);
}

bool Outbox::wait_confirmed(milliseconds at_most) {
  const Lsn target = Lsn::parse(session().value("SELECT pg_current_wal_flush_lsn()")).value();
  return wait_until(at_most, [&] { return confirmed() >= target; });
}

Background::Background(std::function<void()> work, milliseconds pause)
    : thread_([this, work = std::move(work), pause] {
        try {
          while (!stopping_) {
            work();
            std::this_thread::sleep_for(pause);
          }
        } catch (const std::runtime_error&) {  // the server went away under it, as the test wanted
        }
      }) {}

void Background::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

SlotWatcher::SlotWatcher(const std::string& dsn, const std::string& slot)
    : session_(dsn),
      polling_(
          [this, sql = "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '" + slot + "'"] {
            const auto position = Lsn::parse(session_.value(sql)).value().value;
            if (position < highest_) went_back_ = true;
            if (position > highest_) highest_ = position;
            ++polls_;
          },
          milliseconds(50)) {}

void keep_wal_moving(const std::string& dsn, milliseconds for_time) {
  PgSession session(dsn);
  const auto end = std::chrono::steady_clock::now() + for_time;
  while (std::chrono::steady_clock::now() < end) {
    session.exec("INSERT INTO junk SELECT repeat('x', 500) FROM generate_series(1, 200)");
    std::this_thread::sleep_for(milliseconds(50));
  }
}

std::size_t count_of(const std::string& log, const std::string& text) {
  std::size_t count = 0;
  for (auto at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++count;
  return count;
}

}  // namespace walrelay::test
