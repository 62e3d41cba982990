#include "connector/retention_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connector/wal_position.h"

namespace walrelay {
namespace {

// Rows that are chosen at once, so that their publication is waited for once.
constexpr std::size_t kChosenMax = 20'000;
// A batch is followed by a rest that leaves most of the time to the service.
constexpr Duration kRestMin = std::chrono::milliseconds(200);
constexpr int kRestPerWork = 9;
// A table may grow beyond max_rows by a hundredth before its rows are counted.
constexpr std::int64_t kCapTolerance = 100;

constexpr Duration kPatience = std::chrono::seconds(70);
constexpr Duration kReadingPatience = std::chrono::seconds(610);

}  // namespace

RetentionRun::RetentionRun(const OutboxRules& rules, Setting setting) : rules_(rules), setting_(std::move(setting)) {}

RetentionRun::Next RetentionRun::next(Instant now, Lsn confirmed) const {
  if (!failure_.empty()) return Next::failed;
  switch (stage_) {
    case Stage::done:
      return Next::done;
    case Stage::detach:
    case Stage::drop:
    case Stage::remove:
      if (confirmed < position_) return Next::publish;
      return now < rest_until_ ? Next::rest : Next::ask;
    default:
      return Next::ask;
  }
}

SqlStatement RetentionRun::statement() const {
  switch (stage_) {
    case Stage::facts:
      return retention_facts_sql(rules_, setting_.slot);
    case Stage::limit:
      return {"SET statement_timeout = '60s'"};
    case Stage::partitions:
      return partitions_sql(facts_);
    case Stage::position:
      return position_sql();
    case Stage::detach:
      return detach_sql(rules_, expired_.front(), concurrently());
    case Stage::mark:
      return mark_detached_sql(rules_, expired_.front());
    case Stage::detached:
      return detached_sql(rules_);
    case Stage::drop:
      return drop_sql(detached_.front());
    case Stage::count:
      return count_rows_sql(rules_);
    case Stage::choose:
      return choose_rows_sql(rules_, choice());
    case Stage::remove:
      return delete_rows_sql(rules_, batches_.front());
    case Stage::done:
      break;
  }
  return {};
}

Duration RetentionRun::patience() const {
  return stage_ == Stage::count || stage_ == Stage::choose ? kReadingPatience : kPatience;
}

void RetentionRun::answer(const PgRows& rows, std::int64_t affected, Instant now, Duration took) {
  deleted_rows_ = 0;
  dropped_partition_.clear();
  switch (stage_) {
    case Stage::facts:
      return on_facts(rows[0]);
    case Stage::limit:
      stage_ = Stage::position;
      return;
    case Stage::partitions:
      return on_partitions(rows);
    case Stage::position:
      position_ = before_page_header(rows[0].lsn("position").value_or(Lsn{}));
      stage_ = Stage::detach;
      return;
    case Stage::detach:
      stage_ = Stage::mark;
      return;
    case Stage::mark:
      expired_.pop_front();
      stage_ = expired_.empty() ? Stage::detached : Stage::detach;
      return;
    case Stage::detached:
      return on_detached(rows);
    case Stage::drop:
      dropped_partition_ = std::move(detached_.front());
      detached_.pop_front();
      if (detached_.empty()) after_detachments();
      return;
    case Stage::count:
      return on_count(rows[0].number("count"));
    case Stage::choose:
      return on_chosen(rows);
    case Stage::remove:
      return on_removed(affected, now, took);
    case Stage::done:
      return;
  }
}

void RetentionRun::on_facts(const PgRow& row) {
  facts_ = retention_facts(row);
  if (const auto problem = retention_problem(rules_, facts_)) return fail(*problem);
  if (facts_.walsender != setting_.walsender) {
    return fail({fmt::format("slot \"{}\" of the server that ordinary connections reach is not the one that is read",
                             setting_.slot),
                 "let postgres.query_dsn lead to the same server as postgres.dsn"});
  }
  if (facts_.by_time) {
    stage_ = Stage::partitions;
  } else {
    begin_rows();
  }
}

// ---- partitions -----------------------------------------------------------------------------------------------------

bool RetentionRun::concurrently() const {
  return setting_.server_version >= 140'000 && facts_.default_partition.empty();
}

void RetentionRun::on_partitions(const PgRows& rows) {
  std::vector<Partition> all;
  for (int i = 0; i < rows.size(); ++i) all.push_back(partition(rows[i]));
  for (auto& one : expired_partitions(rules_.retention, facts_.now_ms, std::move(all))) {
    if (!one.owned) return fail(not_owned(one, facts_));
    expired_.push_back(std::move(one));
  }
  stage_ = expired_.empty() ? Stage::detached : Stage::limit;
}

void RetentionRun::on_detached(const PgRows& rows) {
  for (int i = 0; i < rows.size(); ++i) {
    position_ = before_page_header(rows[i].lsn("position").value_or(Lsn{}));
    detached_.push_back(rows[i].text("name"));
  }
  stage_ = Stage::drop;
  if (detached_.empty()) after_detachments();
}

// Rows that are in no other partition do not go with one.
void RetentionRun::after_detachments() {
  if (facts_.default_partition.empty()) {
    stage_ = Stage::done;
  } else {
    begin_rows();
  }
}

// ---- rows -----------------------------------------------------------------------------------------------------------

void RetentionRun::begin_rows() {
  by_age_ = rules_.retention.keep.count() > 0;
  if (by_age_) {
    stage_ = Stage::choose;
  } else {
    begin_cap();
  }
}

void RetentionRun::begin_cap() {
  by_age_ = false;
  const auto max_rows = static_cast<std::int64_t>(rules_.retention.max_rows);
  const bool count =
      max_rows > 0 && !facts_.by_time && setting_.may_count && facts_.rows > max_rows + max_rows / kCapTolerance;
  stage_ = count ? Stage::count : Stage::done;
}

void RetentionRun::on_count(std::int64_t rows) {
  excess_ = rows - static_cast<std::int64_t>(rules_.retention.max_rows);
  counted_in_vain_ = excess_ <= 0;
  stage_ = counted_in_vain_ ? Stage::done : Stage::choose;
}

std::size_t RetentionRun::choice_limit() const {
  const std::size_t limit =
      std::max(rules_.retention.batch, kChosenMax / rules_.retention.batch * rules_.retention.batch);
  return by_age_ ? limit : std::min(limit, static_cast<std::size_t>(excess_));
}

RowChoice RetentionRun::choice() const {
  RowChoice choice;
  choice.order = age_column(rules_, facts_);
  choice.time_type = facts_.time_type;
  if (by_age_) choice.before_ms = facts_.now_ms - rules_.retention.keep.count();
  if (facts_.by_time) choice.partition = facts_.default_partition;
  choice.limit = choice_limit();
  choice.batch = rules_.retention.batch;
  return choice;
}

void RetentionRun::on_chosen(const PgRows& rows) {
  chosen_ = 0;
  of_choice_ = 0;
  for (int i = 0; i < rows.size(); ++i) {
    position_ = before_page_header(rows[i].lsn("position").value_or(Lsn{}));
    batches_.push_back(row_batch(rows[i]));
    chosen_ += static_cast<std::size_t>(batches_.back().rows);
  }
  stage_ = Stage::remove;
  if (batches_.empty()) after_rows();
}

void RetentionRun::on_removed(std::int64_t rows, Instant now, Duration took) {
  deleted_rows_ = rows;
  of_choice_ += rows;
  rest_until_ = now + std::max(kRestMin, took * kRestPerWork);
  batches_.pop_front();
  if (!batches_.empty()) return;
  const bool all_seen = chosen_ < choice_limit();
  excess_ -= of_choice_;
  if (of_choice_ == 0) {
    return fail(
        {"none of the rows that were chosen could be deleted: they were changed in the meantime, or a trigger or "
         "row-level security keeps them",
         "if it lasts, look at the table's triggers and policies"});
  }
  const bool more = by_age_ ? !all_seen : excess_ > 0 && !all_seen;
  if (more) {
    stage_ = Stage::choose;
  } else {
    after_rows();
  }
}

void RetentionRun::after_rows() {
  if (by_age_) {
    begin_cap();
  } else {
    stage_ = Stage::done;
  }
}

}  // namespace walrelay
