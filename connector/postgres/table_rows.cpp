#include "connector/postgres/table_rows.h"

#include <fmt/format.h>

#include <charconv>

#include "connector/postgres/pg_quote.h"
#include "decoder/rule_error.h"

namespace walrelay {
namespace {

constexpr std::chrono::milliseconds kTick{200};
constexpr int kRowsPerFetch = 1000;
constexpr const char* kCursor = "walrelay_rows";

void wait_for_result(PgConnection& connection, const Tick& tick) {
  while (!connection.wait(kTick)) tick();
}

std::uint32_t to_oid(const std::string& text) {
  std::uint32_t oid = 0;
  std::from_chars(text.data(), text.data() + text.size(), oid);
  return oid;
}

PgError explain_read(const PgError& error, const std::string& table) {
  std::string remedy;
  if (error.sqlstate() == "42501") {
    remedy = fmt::format(
        "GRANT SELECT ON {} TO the role that walrelay connects as; with row level security, a role with "
        "BYPASSRLS",
        quote_table(table));
  }
  return {error.sqlstate(), fmt::format("cannot read table {}: {}", table, error.reason()), std::move(remedy)};
}

// That an id is not one of its column's type is a fault of the command line.
[[noreturn]] void fail(const PgError& error, const std::string& table, const std::optional<RowColumn>& id_column) {
  constexpr std::string_view kDataException = "22";
  if (!id_column || !error.sqlstate().starts_with(kDataException)) throw explain_read(error, table);
  throw RuleError(fmt::format("--id: column \"{}\" of table {} is {}: {}", id_column->name, table, id_column->type_name,
                              error.reason()));
}

}  // namespace

void prepare_row_transaction(PgConnection& connection, const std::string& snapshot) {
  if (!snapshot.empty()) connection.exec("SET TRANSACTION SNAPSHOT " + quote_literal(snapshot));
  // The same as on the replication connection, which sets them when it connects; see conninfo.cpp.
  for (const char* setting :
       {"timezone = 'UTC'", "datestyle = 'ISO'", "intervalstyle = 'postgres'", "bytea_output = 'hex'",
        "extra_float_digits = 1", "statement_timeout = 0", "idle_in_transaction_session_timeout = 0",
        "row_security = off", "cursor_tuple_fraction = 1"}) {
    connection.exec(fmt::format("SET LOCAL {}", setting));
  }
  if (connection.server_version() >= 170'000) connection.exec("SET LOCAL transaction_timeout = 0");
}

RowTable read_row_table(PgConnection& connection, const std::string& table) {
  const auto columns = connection.exec(
      "SELECT a.attname::text AS name, a.atttypid::text AS type_id, (WITH RECURSIVE base AS (SELECT t.oid, "
      "t.typbasetype FROM pg_type t WHERE t.oid = a.atttypid UNION ALL SELECT t.oid, t.typbasetype FROM pg_type t JOIN "
      "base b ON t.oid = b.typbasetype) SELECT format_type(oid, NULL) FROM base WHERE typbasetype = 0) AS type FROM "
      "pg_attribute a WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' "
      "ORDER BY a.attnum",
      {quote_table(table)});
  RowTable facts;
  for (int i = 0; i < columns.size(); ++i) {
    facts.columns.push_back({columns[i].text("name"), columns[i].text("type"), to_oid(columns[i].text("type_id"))});
  }
  const auto key = connection.exec(
      "SELECT a.attname::text AS name FROM pg_index i CROSS JOIN unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, "
      "place) JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum WHERE i.indrelid = $1::regclass "
      "AND i.indisprimary AND k.place <= i.indnkeyatts ORDER BY k.place",
      {quote_table(table)});
  for (int i = 0; i < key.size(); ++i) facts.primary_key.push_back(key[i].text("name"));
  return facts;
}

TableRows::TableRows(PgConnection& connection, const OutboxRules& rules, const RowFilter& filter, RelationId id)
    : connection_(connection),
      id_(id),
      schema_(split_table(rules.table).schema),
      name_(split_table(rules.table).name),
      query_(make_row_query(rules, read_row_table(connection, rules.table), filter)) {
  for (const auto& column : query_.columns) relation_columns_.push_back({false, column.name, column.type_id, -1});
  values_.resize(query_.columns.size());
}

std::int64_t TableRows::count(const Tick& tick) {
  try {
    connection_.send(query_.count);
    wait_for_result(connection_, tick);
    return connection_.take()[0].number("count");
  } catch (const PgError& error) {
    fail(error, schema_ + "." + name_, query_.id_column);
  }
}

RelationMessage TableRows::relation() const { return {id_, schema_, name_, 'd', relation_columns_}; }

bool TableRows::next(const Tick& tick) {
  try {
    while (true) {
      if (!fetching_) fetch(tick);
      auto result = take_result(tick);
      if (!result) {
        fetching_ = false;
        if (fetched_any_) continue;
        connection_.exec(fmt::format("CLOSE {}", kCursor));
        return false;
      }
      if (PQresultStatus(result.get()) != PGRES_SINGLE_TUPLE) continue;  // the end of this fetch
      take_row(std::move(result));
      return true;
    }
  } catch (const PgError& error) {
    throw explain_read(error, schema_ + "." + name_);
  }
}

void TableRows::fetch(const Tick& tick) {
  if (!declared_) {
    connection_.send(fmt::format("DECLARE {} NO SCROLL CURSOR FOR {}", kCursor, query_.select));
    wait_for_result(connection_, tick);
    connection_.take();
    declared_ = true;
  }
  connection_.send(fmt::format("FETCH FORWARD {} FROM {}", kRowsPerFetch, kCursor));
  PQsetSingleRowMode(connection_.get());
  fetching_ = true;
  fetched_any_ = false;
}

PgResultHandle TableRows::take_result(const Tick& tick) {
  wait_for_result(connection_, tick);
  PgResultHandle result(PQgetResult(connection_.get()));
  if (result && PQresultStatus(result.get()) == PGRES_FATAL_ERROR) throw result_error(result.get(), "");
  return result;
}

void TableRows::take_row(PgResultHandle result) {
  row_ = std::move(result);
  fetched_any_ = true;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const int field = static_cast<int>(i);
    const bool null = PQgetisnull(row_.get(), 0, field) != 0;
    values_[i] = {null ? ColumnKind::null : ColumnKind::text,
                  {PQgetvalue(row_.get(), 0, field), static_cast<std::size_t>(PQgetlength(row_.get(), 0, field))}};
  }
}

}  // namespace walrelay
