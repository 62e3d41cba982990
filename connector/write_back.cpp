#include "connector/write_back.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "connector/observe/log.h"
#include "connector/postgres/pg_error.h"
#include "connector/postgres/pg_quote.h"
#include "decoder/mapping_check.h"

namespace walrelay {

namespace {

using State = AsyncConnection::State;

constexpr Duration kAnswerTimeout = std::chrono::seconds(10);  // beyond the statement's own
constexpr std::string_view kLockNotAvailable = "55P03";

bool failures_pass(const DeliveryOptions& delivery) {
  const auto& by_class = delivery.on_error_by_class;
  return delivery.on_error != OnError::halt ||
         std::any_of(by_class.begin(), by_class.end(), [](const auto& p) { return p.second != OnError::halt; });
}

std::vector<WriteBackQueue::Use> uses_of(const Config& config) {
  std::vector<WriteBackQueue::Use> uses;
  for (const auto& rules : config.outboxes) uses.push_back({rules.marks_delivered(), rules.tells_failures()});
  return uses;
}

// Connection, shutdown, lack of resources, deadlock, lock, time-out, a server that only reads.
bool may_heal(std::string_view sqlstate) {
  constexpr std::array<std::string_view, 8> kClasses = {"", "08", "25", "40", "53", "55", "57", "58"};
  return std::find(kClasses.begin(), kClasses.end(), sqlstate.substr(0, 2)) != kClasses.end();
}

// Of every row of the table, not of the one batch.
bool concerns_table(std::string_view sqlstate) {
  return sqlstate.starts_with("42") || sqlstate.starts_with("3") || sqlstate.starts_with("0A");
}

std::string field(const PGresult* result, int row, const char* name) {
  return PQgetvalue(result, row, PQfnumber(result, name));
}

std::size_t number(const char* digits) {
  std::size_t parsed = 0;
  std::from_chars(digits, digits + std::char_traits<char>::length(digits), parsed);
  return parsed;
}

}  // namespace

bool WriteBack::wanted(const Config& config) {
  return std::any_of(config.outboxes.begin(), config.outboxes.end(),
                     [](const OutboxRules& rules) { return rules.marks_delivered() || rules.tells_failures(); });
}

WriteBack::WriteBack(std::function<Conninfo()> conninfo, const Config& config, RelayMetrics& metrics,
                     std::uint64_t seed)
    : conninfo_(std::move(conninfo)),
      config_(config),
      metrics_(metrics),
      queue_(uses_of(config), failures_pass(config.delivery), config.delivery.max_in_flight),
      tables_(config.outboxes.size()),
      backoff_({}, seed) {}

void WriteBack::take(Instant now, bool readable) {
  if (connection_.state() == State::closed) return;
  if (connection_.state() == State::ready && readable) connection_.check_idle();
  const State state = connection_.step(now);
  if (state == State::busy && now >= answer_deadline_) {
    connection_.abandon({"", fmt::format("{}: no answer in time", connection_.target().to_string())});
  }
  if (connection_.state() == State::closed) return lost(now);
  if (state == State::ready && asked_ != Asked::nothing) take_answer(now);
}

void WriteBack::send(Instant now, bool awaited) {
  metrics_.write_back_pending.set(queue_.pending());
  if (!awaited && trouble_since_) trouble_since_ = now;
  if (connection_.state() == State::ready) return send_next(now);
  if (connection_.state() == State::busy) return;
  const bool needed = !queue_.idle() || trouble_since_;
  if (impatient(now)) give_up_all(now);
  if (needed && connection_.state() == State::closed && now >= connect_at_) connect(now);
}

void WriteBack::connect(Instant now) {
  connection_.connect(conninfo_(), now);
  if (connection_.state() == State::closed) lost(now);
}

void WriteBack::lost(Instant now) {
  if (std::exchange(asked_, Asked::nothing) >= Asked::rows) queue_.put_back();
  for (auto& table : tables_) table.statements.reset();  // it may be another server next time
  connect_at_ = now + backoff_.next();
  trouble_ = connection_.error().message;
  if (!queue_.idle() && !trouble_since_) trouble_since_ = now;
}

void WriteBack::send_next(Instant now) {
  while (true) {
    const auto due = queue_.due();
    if (!due || now < *due || (now < retry_at_ && !impatient(now))) return;
    const WriteBackBatch& batch = queue_.begin();
    const auto outbox = batch.outbox;
    if (now < tables_[outbox].rests_until) {
      give_up("", now);
    } else if (tables_[outbox].statements) {
      return ask(Asked::rows, outbox, now);
    } else {
      queue_.put_back();
      return ask(Asked::columns, outbox, now);
    }
  }
}

void WriteBack::ask(Asked what, std::size_t outbox, Instant now) {
  asked_ = what;
  asked_outbox_ = outbox;
  answer_deadline_ = now + kAnswerTimeout;
  if (what == Asked::columns) {
    const auto& rules = config_.outboxes[outbox];
    const auto [schema, name] = split_table(rules.table);
    connection_.query(kWriteBackColumnsSql, {schema, name, array_text(write_back_columns(rules))});
  } else {
    connection_.query(tables_[outbox].statements->of(queue_.under_way(), what == Asked::free_rows));
  }
  if (connection_.state() == State::closed) lost(now);
}

void WriteBack::take_answer(Instant now) {
  const PgResultHandle result = connection_.take_result();
  const auto status = result ? PQresultStatus(result.get()) : PGRES_FATAL_ERROR;
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) return refused(now);
  if (asked_ == Asked::columns) return take_columns(result.get(), now);
  written(number(PQcmdTuples(result.get())), now);
}

void WriteBack::take_columns(const PGresult* result, Instant now) {
  asked_ = Asked::nothing;
  std::vector<WriteBackColumn> columns;
  std::vector<ColumnInfo> infos;
  for (int row = 0; row < PQntuples(result); ++row) {
    infos.push_back({field(result, row, "name"), field(result, row, "base")});
    columns.push_back(
        {infos.back(), field(result, row, "type"), static_cast<int>(number(field(result, row, "characters").c_str()))});
  }
  const auto& rules = config_.outboxes[asked_outbox_];
  const auto problems = write_back_problems(rules, infos);
  if (problems.empty()) {
    tables_[asked_outbox_].statements.emplace(rules, columns);
    return;
  }
  tables_[asked_outbox_].rests_until = now + kRest;
  tell(asked_outbox_, problems.front(), now);
}

void WriteBack::written(std::size_t rows, Instant now) {
  const bool all = std::exchange(asked_, Asked::nothing) == Asked::rows;
  WriteBackBatch& batch = queue_.under_way();
  batch.rows_written += rows;
  count(WriteBackResult::written, rows);
  if (!all && batch.rows_written < batch.rows) return try_again(trouble_, now);
  count(WriteBackResult::unchanged, batch.rows - std::min(batch.rows, batch.rows_written));
  queue_.finished();
  backoff_.reset();
  trouble_since_.reset();
  if (given_up_ == 0) return;
  log_info("write_back_restored", "rows are written to again", {{"given_up", std::exchange(given_up_, 0)}});
}

void WriteBack::refused(Instant now) {
  const Asked asked = std::exchange(asked_, Asked::nothing);
  const SourceError error = connection_.error();
  const auto why = error.message + remedy(error.sqlstate, asked_outbox_);
  if (asked == Asked::columns) {
    if (may_heal(error.sqlstate)) {
      if (queue_.due()) static_cast<void>(queue_.begin());
      return try_again(why, now);
    }
    tables_[asked_outbox_].rests_until = now + kRest;
    return tell(asked_outbox_, why, now);
  }
  const bool one_row = queue_.under_way().kind == WriteBackBatch::Kind::failed;
  if (asked == Asked::rows && error.sqlstate == kLockNotAvailable && !one_row) {
    trouble_ = why;
    return ask(Asked::free_rows, asked_outbox_, now);
  }
  if (may_heal(error.sqlstate)) return try_again(why, now);
  if (concerns_table(error.sqlstate)) tables_[asked_outbox_] = {std::nullopt, now + kRest};
  give_up(why, now);
}

void WriteBack::try_again(const std::string& why, Instant now) {
  if (!trouble_since_) trouble_since_ = now;
  if (impatient(now)) return give_up(why, now);
  queue_.put_back();
  retry_at_ = now + kRetry;
}

void WriteBack::give_up(const std::string& why, Instant now) {
  const WriteBackBatch& batch = queue_.under_way();
  const auto rows = batch.rows - std::min(batch.rows, batch.rows_written);
  count(WriteBackResult::failed, rows);
  given_up_ += rows;
  if (!why.empty()) tell(batch.outbox, why, now);
  queue_.finished();
}

void WriteBack::give_up_all(Instant now) {
  while (queue_.due()) {
    static_cast<void>(queue_.begin());
    give_up(trouble_, now);
  }
}

void WriteBack::count(WriteBackResult result, std::size_t rows) {
  metrics_.write_back(queue_.under_way().outbox, result).add(rows);
}

void WriteBack::tell(std::size_t outbox, const std::string& why, Instant now) {
  if (told_at_ && now - *told_at_ < kToldInterval) return;
  told_at_ = now;
  log_warning("write_back_failed", "rows are not written to, and their positions are confirmed all the same: " + why,
              {{"outbox", config_.outboxes[outbox].table}});
}

std::string WriteBack::remedy(std::string_view sqlstate, std::size_t outbox) const {
  if (sqlstate == "42501") {
    return fmt::format("; remedy: {}", grant_write_back_sql(config_.outboxes[outbox], connection_.target().user));
  }
  if (sqlstate == kLockNotAvailable) return "; another transaction has locked rows or the table: end it";
  return "";
}

Instant WriteBack::deadline() const {
  const auto next = queue_.due();
  if (connection_.state() == State::busy) return answer_deadline_;
  if (!next) return Instant::max();
  if (connection_.state() == State::ready) return std::max(*next, retry_at_);
  const Instant given_up = trouble_since_ ? *trouble_since_ + kPatience : Instant::max();
  return connection_.state() == State::closed ? std::min(connect_at_, given_up) : given_up;
}

}  // namespace walrelay
