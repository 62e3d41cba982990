// What retention asks, and what it lets go: never what is not published.

#include <libpq-fe.h>

#include "connector/retention_run.h"
#include "connector/wal_position.h"
#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

using Next = RetentionRun::Next;
using Cells = std::vector<std::pair<std::string, std::string>>;  // column, text

constexpr Instant kStart{std::chrono::hours(1)};

PgRows result_of(const std::vector<Cells>& rows) {
  PgResultHandle result{PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK)};
  std::vector<PGresAttDesc> columns;
  for (std::size_t i = 0; !rows.empty() && i < rows.front().size(); ++i) {
    columns.push_back({const_cast<char*>(rows.front()[i].first.c_str()), 0, 0, 0, 25, -1, -1});
  }
  REQUIRE(PQsetResultAttrs(result.get(), static_cast<int>(columns.size()), columns.data()) == 1);
  for (int row = 0; row < static_cast<int>(rows.size()); ++row) {
    int column = 0;
    for (auto [name, text] : rows[static_cast<std::size_t>(row)]) {
      REQUIRE(PQsetvalue(result.get(), row, column++, text.data(), static_cast<int>(text.size())) == 1);
    }
  }
  return PgRows(std::move(result));
}

PgRows nothing() { return result_of({}); }

Cells facts_row() {
  return {{"role", "relay"},     {"recovering", "f"},  {"walsender", "77"}, {"now_ms", "1000000000"},
          {"relation", "16384"}, {"may_delete", "t"},  {"owned", "f"},      {"time_type", "timestamp with time zone"},
          {"key_column", "id"},  {"key_type", "uuid"}, {"by_time", "f"},    {"default_partition", ""},
          {"rows", "5000"}};
}

Cells with(Cells row, const std::string& column, const std::string& text) {
  for (auto& [name, value] : row) {
    if (name == column) value = text;
  }
  return row;
}

Cells batch_row(const std::string& position, const std::string& places, int rows) {
  return {{"position", position},         {"txid_current", "9"}, {"relation", "16384"},
          {"rows", std::to_string(rows)}, {"places", places},    {"writers", "{\"8\"}"}};
}

OutboxRules rules_of(RetentionRules retention) {
  OutboxRules rules;
  rules.table = "public.outbox";
  rules.topic = "t";
  rules.value = "{payload}";
  rules.timestamp = "{occurred_at}";
  rules.retention = retention;
  return rules;
}

RetentionRules keep(std::chrono::milliseconds age) { return {.keep = age}; }

Partition upto(const std::string& name, std::optional<std::int64_t> upper_ms, std::int64_t rows = 10) {
  return {.name = name, .owned = true, .upper_ms = upper_ms, .rows = rows};
}

std::vector<std::string> names(const std::vector<Partition>& partitions) {
  std::vector<std::string> all;
  for (const auto& one : partitions) all.push_back(one.name);
  return all;
}

}  // namespace

TEST_CASE("rows are deleted only once the relay has confirmed what was committed when they were chosen") {
  const OutboxRules rules = rules_of(keep(std::chrono::hours(1)));
  RetentionRun run(rules, {"slot", 77, 150'000});
  REQUIRE(run.next(kStart, {}) == Next::ask);
  run.answer(result_of({facts_row()}), 0, kStart, {});
  REQUIRE(run.next(kStart, {}) == Next::ask);
  CHECK_THAT(run.statement().sql, ContainsSubstring("\"occurred_at\" < to_timestamp(996400000 / 1000.0)"));
  run.answer(result_of({batch_row("0/1000", "{\"(0,1)\",\"(0,2)\"}", 2)}), 0, kStart, {});
  CHECK(run.next(kStart, Lsn{0xFFF}) == Next::publish);
  REQUIRE(run.next(kStart, Lsn{0x1000}) == Next::ask);
  const auto sql = run.statement().sql;
  CHECK_THAT(sql,
             ContainsSubstring("DELETE FROM \"public\".\"outbox\" WHERE ctid = ANY ('{\"(0,1)\",\"(0,2)\"}'::tid[])"));
  CHECK_THAT(sql, ContainsSubstring("xmin = ANY ('{\"8\"}'::xid[])"));
  run.answer(nothing(), 2, kStart, {});
  CHECK(run.deleted_rows() == 2);
  CHECK(run.next(kStart, Lsn{0x1000}) == Next::done);
}

TEST_CASE("a batch is followed by a rest nine times as long as its work, and at least 200 ms") {
  const OutboxRules rules = rules_of({.keep = std::chrono::hours(1), .batch = 2});
  RetentionRun run(rules, {"slot", 77, 150'000});
  run.answer(result_of({facts_row()}), 0, kStart, {});
  run.answer(result_of({batch_row("0/1000", "{\"(0,1)\",\"(0,2)\"}", 2), batch_row("0/1000", "{\"(0,3)\"}", 1),
                        batch_row("0/1000", "{\"(0,4)\"}", 1)}),
             0, kStart, {});
  run.answer(nothing(), 2, kStart, std::chrono::milliseconds(1));
  CHECK(run.next(kStart, Lsn{0x1000}) == Next::rest);
  CHECK(run.rest_until() == kStart + std::chrono::milliseconds(200));
  CHECK(run.next(run.rest_until(), Lsn{0x1000}) == Next::ask);
  run.answer(nothing(), 1, kStart, std::chrono::milliseconds(100));
  CHECK(run.rest_until() == kStart + std::chrono::milliseconds(900));
}

TEST_CASE("rows are counted only where the statistics are over max_rows, and the oldest above it go") {
  const OutboxRules rules = rules_of({.max_rows = 4990});
  {
    RetentionRun run(rules, {"slot", 77, 150'000});
    run.answer(result_of({facts_row()}), 0, kStart, {});  // 5000 by the statistics: within a hundredth
    CHECK(run.next(kStart, {}) == Next::done);
  }
  RetentionRun run(rules, {"slot", 77, 150'000});
  run.answer(result_of({with(facts_row(), "rows", "6000")}), 0, kStart, {});
  CHECK_THAT(run.statement().sql, ContainsSubstring("count(*)"));
  run.answer(result_of({{{"count", "5000"}}}), 0, kStart, {});
  CHECK_THAT(run.statement().sql, ContainsSubstring("ORDER BY \"occurred_at\" LIMIT 10)"));
  CHECK_FALSE(run.counted_in_vain());

  RetentionRun in_vain(rules, {"slot", 77, 150'000});
  in_vain.answer(result_of({with(facts_row(), "rows", "6000")}), 0, kStart, {});
  in_vain.answer(result_of({{{"count", "4000"}}}), 0, kStart, {});
  CHECK(in_vain.next(kStart, {}) == Next::done);
  CHECK(in_vain.counted_in_vain());

  RetentionRun not_again(rules, {"slot", 77, 150'000, false});
  not_again.answer(result_of({with(facts_row(), "rows", "6000")}), 0, kStart, {});
  CHECK(not_again.next(kStart, {}) == Next::done);
}

TEST_CASE("what keeps rows from being deleted is told with its remedy") {
  const OutboxRules rules = rules_of(keep(std::chrono::hours(1)));
  const auto failure = [&](const std::string& column, const std::string& text) {
    RetentionRun run(rules, {"slot", 77, 150'000});
    run.answer(result_of({with(facts_row(), column, text)}), 0, kStart, {});
    CHECK(run.next(kStart, {}) == Next::failed);
    return run.failure();
  };
  CHECK_THAT(failure("may_delete", "f"),
             ContainsSubstring("GRANT SELECT, DELETE ON \"public\".\"outbox\" TO \"relay\";"));
  CHECK_THAT(failure("walsender", "78"), ContainsSubstring("postgres.query_dsn"));
  CHECK_THAT(failure("recovering", "t"), ContainsSubstring("connect to the primary"));
  CHECK_THAT(failure("time_type", "text"), ContainsSubstring("max_rows"));
  CHECK_THAT(failure("time_type", ""), ContainsSubstring("no column \"occurred_at\""));
  CHECK_THAT(failure("by_time", "t"), ContainsSubstring("OWNER TO \"relay\""));
}

TEST_CASE("partitions go whose upper bound is old enough, oldest first, never one without a bound") {
  const std::vector<Partition> all = {upto("c", 900), upto("max", std::nullopt), upto("a", 300), upto("b", 600)};
  CHECK(names(expired_partitions(keep(std::chrono::milliseconds(400)), 1000, all)) ==
        std::vector<std::string>{"a", "b"});
  CHECK(names(expired_partitions(keep(std::chrono::milliseconds(401)), 1000, all)) == std::vector<std::string>{"a"});
  CHECK(expired_partitions(keep(std::chrono::milliseconds(701)), 1000, all).empty());
}

TEST_CASE("max_rows keeps the newest partitions that have so many rows between them, and those still to come") {
  const std::vector<Partition> all = {upto("a", 300), upto("b", 600), upto("c", 900), upto("now", 1200),
                                      upto("later", 1500, 0)};
  const auto dropped = [&](std::size_t max_rows) {
    return names(expired_partitions({.max_rows = max_rows}, 1000, all));
  };
  CHECK(dropped(10) == std::vector<std::string>{"a", "b", "c"});
  CHECK(dropped(11) == std::vector<std::string>{"a", "b"});
  CHECK(dropped(30) == std::vector<std::string>{"a"});
  CHECK(dropped(31).empty());
}

TEST_CASE("a position behind the header of an empty page is that of the page") {
  CHECK(before_page_header(Lsn{0x2018}) == Lsn{0x2000});
  CHECK(before_page_header(Lsn{0x100028}) == Lsn{0x100000});
  CHECK(before_page_header(Lsn{0x2028}) == Lsn{0x2028});
  CHECK(before_page_header(Lsn{0x2020}) == Lsn{0x2020});
}

}  // namespace walrelay::test
