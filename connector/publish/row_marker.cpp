#include "connector/publish/row_marker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connector/clock.h"
#include "connector/observe/log.h"
#include "connector/postgres/write_back_catalog.h"
#include "connector/write_back.h"
#include "decoder/rule_error.h"

namespace walrelay {
namespace {

using BatchKind = WriteBackBatch::Kind;

Conninfo conninfo_of(const PostgresOptions& options) {
  return query_conninfo(options.query_dsn.empty() ? options.dsn : options.query_dsn, options.slot);
}

}  // namespace

std::string RowMarks::to_string() const {
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view noun, std::string_view done) {
    if (count == 0) return;
    text += fmt::format("{}{} {}{} {}", text.empty() ? "" : ", ", count, noun, count == 1 ? "" : "s", done);
  };
  add(marked, "row", "marked");
  add(deleted, "row", "deleted");
  add(told, "failure", "told in the table");
  add(failed, "row", "could not be written to");
  return text;
}

RowMarker::RowMarker(const Config& config, Lsn position)
    : config_(config),
      conninfo_(conninfo_of(config.postgres)),
      place_{.commit_lsn = position},
      queue_(WriteBack::uses(config), false, kRowsPerRound),
      tables_(config.outboxes.size()) {}

void RowMarker::failed(std::size_t outbox, std::string_view id, const Rejection& rejection) {
  queue_.failed(outbox, place_, id, rejection, SystemClock().now());
}

void RowMarker::write_settled(const std::function<void()>& between) {
  queue_.all_settled(SystemClock().now());
  write_due(between);
}

void RowMarker::write_due(const std::function<void()>& between) {
  while (queue_.due()) {
    WriteBackBatch& batch = queue_.begin();
    if (!write(batch)) postpone(batch);
    queue_.finished();
    between();
  }
  connection_.reset();  // it would be idle for longer than a server may let it
}

void RowMarker::finish() {
  for (auto& table : tables_) table.rests_until = {};
  for (auto& batch : std::exchange(postponed_, {})) {
    if (!write(batch)) give_up(batch);
  }
  connection_.reset();
}

bool RowMarker::write(WriteBackBatch& batch) {
  const Table& table = tables_[batch.outbox];
  if (SystemClock().now() < table.rests_until) return false;
  try {
    return execute(batch);
  } catch (const PgError& error) {
    return refused(batch, error);
  } catch (const RuleError& problem) {
    return refused(batch, PgError("42703", problem.what()));
  }
}

bool RowMarker::execute(WriteBackBatch& batch) {
  if (!connection_) connection_.emplace(conninfo_);
  Table& table = tables_[batch.outbox];
  if (!table.statements) {
    const auto& rules = config_.outboxes[batch.outbox];
    table.statements = make_write_back_statements(rules, read_write_back_columns(*connection_, rules));
  }
  try {
    run(batch, false);
    return true;
  } catch (const PgError& error) {
    if (error.sqlstate() != kLockNotAvailable || batch.kind == BatchKind::failed) throw;
    table.trouble = error.reason() + write_back_remedy(kLockNotAvailable, config_.outboxes[batch.outbox], "");
  }
  run(batch, true);
  return batch.rows_written >= batch.rows;
}

void RowMarker::run(WriteBackBatch& batch, bool only_free) {
  const auto rows = connection_->exec_simple(tables_[batch.outbox].statements->of(batch, only_free)).affected();
  batch.rows_written += rows;
  if (batch.kind == BatchKind::failed) {
    marks_.told += rows;
  } else if (config_.outboxes[batch.outbox].deletes_acknowledged()) {
    marks_.deleted += rows;
  } else {
    marks_.marked += rows;
  }
}

bool RowMarker::refused(const WriteBackBatch& batch, const PgError& error) {
  Table& table = tables_[batch.outbox];
  table.trouble =
      error.message() + write_back_remedy(error.sqlstate(), config_.outboxes[batch.outbox], conninfo_.target().user);
  const auto refusal = classify_write_back(error.sqlstate());
  const bool one_row = batch.kind == BatchKind::failed && error.sqlstate() == kLockNotAvailable;
  if (refusal != WriteBackRefusal::rows && !one_row) {
    connection_.reset();  // it may be of no more use
    table.rests_until = SystemClock().now() + kRest;
  }
  if (refusal == WriteBackRefusal::passing) return false;
  give_up(batch);
  return true;
}

void RowMarker::postpone(const WriteBackBatch& batch) {
  if (postponed_.size() >= kPostponedMax) return give_up(batch);
  postponed_.push_back(batch);
}

void RowMarker::give_up(const WriteBackBatch& batch) {
  marks_.failed += batch.rows - std::min(batch.rows, batch.rows_written);
  Table& table = tables_[batch.outbox];
  if (std::exchange(table.told, true)) return;
  log_warning("write_back_failed", "rows are published, but cannot be written to: " + table.trouble,
              {{"outbox", config_.outboxes[batch.outbox].table}});
}

}  // namespace walrelay
