#include "connector/write_back.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connector/observe/log.h"
#include "connector/postgres/pg_error.h"
#include "connector/postgres/pg_quote.h"
#include "connector/postgres/write_back_catalog.h"
#include "decoder/rule_error.h"

namespace walrelay {

namespace {

using State = AsyncConnection::State;

constexpr Duration kBatchTimeout = std::chrono::seconds(10);  // beyond the statement's own

bool failures_pass(const DeliveryOptions& delivery) {
  const auto& by_class = delivery.on_error_by_class;
  return delivery.on_error != OnError::halt ||
         std::any_of(by_class.begin(), by_class.end(), [](const auto& p) { return p.second != OnError::halt; });
}

}  // namespace

bool WriteBack::wanted(const Config& config) {
  return std::any_of(config.outboxes.begin(), config.outboxes.end(),
                     [](const OutboxRules& rules) { return rules.marks_delivered() || rules.tells_failures(); });
}

std::vector<WriteBackQueue::Use> WriteBack::uses(const Config& config) {
  std::vector<WriteBackQueue::Use> uses;
  uses.reserve(config.outboxes.size());
  for (const auto& rules : config.outboxes) uses.push_back({rules.marks_delivered(), rules.tells_failures()});
  return uses;
}

WriteBack::WriteBack(std::function<Conninfo()> conninfo, const Config& config, RelayMetrics& metrics,
                     std::uint64_t seed)
    : conninfo_(std::move(conninfo)),
      config_(config),
      metrics_(metrics),
      queue_(uses(config), failures_pass(config.delivery), config.delivery.max_in_flight),
      tables_(config.outboxes.size()),
      backoff_({}, seed) {}

void WriteBack::take(Instant now, bool readable) {
  patience_.turn(now);
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
  if (!awaited) patience_.restart(now);
  if (connection_.state() == State::ready) return send_next(now);
  if (connection_.state() == State::busy) return;
  const bool needed = !queue_.idle() || patience_.in_trouble();
  if (patience_.over(now)) give_up_all(now);
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
  if (!queue_.idle()) patience_.trouble(now);
}

void WriteBack::send_next(Instant now) {
  while (true) {
    const auto due = queue_.due();
    if (!due || now < *due || (now < retry_at_ && !patience_.over(now))) return;
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
  answer_deadline_ = now + kBatchTimeout;
  if (what == Asked::columns) {
    const auto& rules = config_.outboxes[outbox];
    const auto [schema, name] = split_table(rules.table);
    connection_.query(kWriteBackColumnsSql, {schema, name, array_text(write_back_columns(rules))});
  } else if (what == Asked::visible) {
    connection_.query(visibility_sql(queue_.under_way()));
  } else {
    connection_.query(tables_[outbox].statements->of(queue_.under_way(), what == Asked::free_rows));
  }
  if (connection_.state() == State::closed) lost(now);
}

void WriteBack::take_answer(Instant now) {
  PgResultHandle result = connection_.take_result();
  const auto status = result ? PQresultStatus(result.get()) : PGRES_FATAL_ERROR;
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) return refused(now);
  const PgRows answer(std::move(result));
  if (asked_ == Asked::columns) return take_columns(answer, now);
  if (asked_ == Asked::visible) return take_visible(answer, now);
  written(answer.affected(), now);
}

void WriteBack::take_columns(const PgRows& answer, Instant now) {
  asked_ = Asked::nothing;
  auto& table = tables_[asked_outbox_];
  try {
    table.statements = make_write_back_statements(config_.outboxes[asked_outbox_], take_write_back_columns(answer));
  } catch (const RuleError& problem) {
    table.rests_until = now + kRest;
    tell(asked_outbox_, problem.what(), now);
  }
}

// If they are, they may have become so since they were looked for.
void WriteBack::take_visible(const PgRows& answer, Instant now) {
  asked_ = Asked::nothing;
  WriteBackBatch& batch = queue_.under_way();
  batch.visible = !answer[0].flag("unseen");
  if (batch.visible) return ask(Asked::rows, batch.outbox, now);
  try_again("rows that are in the log are not visible yet (does synchronous replication wait for a standby?)", now);
}

void WriteBack::written(std::size_t rows, Instant now) {
  const bool all = std::exchange(asked_, Asked::nothing) == Asked::rows;
  WriteBackBatch& batch = queue_.under_way();
  batch.rows_written += rows;
  count(WriteBackResult::written, rows);
  if (!all && batch.rows_written < batch.rows) return try_again(trouble_, now);
  if (batch.rows_written < batch.rows && !batch.visible) return ask(Asked::visible, batch.outbox, now);
  count(WriteBackResult::unchanged, batch.rows - std::min(batch.rows, batch.rows_written));
  queue_.finished();
  backoff_.reset();
  patience_.success();
  if (given_up_ == 0) return;
  log_info("write_back_restored", "rows are written to again", {{"given_up", std::exchange(given_up_, 0)}});
}

void WriteBack::refused(Instant now) {
  const Asked asked = std::exchange(asked_, Asked::nothing);
  const SourceError error = connection_.error();
  const auto refusal = classify_write_back(error.sqlstate);
  const auto why =
      error.message + write_back_remedy(error.sqlstate, config_.outboxes[asked_outbox_], connection_.target().user);
  if (asked == Asked::columns) {
    if (refusal == WriteBackRefusal::passing) {
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
  if (refusal == WriteBackRefusal::passing) return try_again(why, now);
  if (refusal == WriteBackRefusal::table) tables_[asked_outbox_] = {std::nullopt, now + kRest};
  give_up(why, now);
}

void WriteBack::try_again(const std::string& why, Instant now) {
  patience_.trouble(now);
  if (patience_.over(now)) return give_up(why, now);
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

void WriteBack::tell_given_up() const {
  if (given_up_ == 0) return;
  log_warning("write_back_given_up", "rows whose events are dealt with were not written to, and stay as they are",
              {{"rows", given_up_}});
}

Instant WriteBack::deadline() const {
  const auto next = queue_.due();
  if (connection_.state() == State::busy) return answer_deadline_;
  if (!next) return Instant::max();
  if (connection_.state() == State::ready) return std::max(*next, retry_at_);
  return connection_.state() == State::closed ? std::min(connect_at_, patience_.deadline()) : patience_.deadline();
}

}  // namespace walrelay
