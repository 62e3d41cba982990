#include "connector/retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "connector/observe/log.h"

namespace walrelay {
namespace {

using State = AsyncConnection::State;

// Rows that are not published after so long are left for the next run.
constexpr Duration kPublicationWait = std::chrono::seconds(60);
constexpr Duration kPublicationLook = std::chrono::milliseconds(20);
constexpr Duration kCountPause = std::chrono::hours(1);

std::int64_t affected_rows(PGresult* result) {
  const std::string_view digits = PQcmdTuples(result);
  std::int64_t rows = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), rows);
  return rows;
}

}  // namespace

bool Retention::earlier(const Job& a, const Job& b) { return a.due < b.due; }

Retention::Job& Retention::next_job() { return *std::min_element(jobs_.begin(), jobs_.end(), earlier); }

Retention::Retention(std::function<Conninfo()> conninfo, const Config& config, RelayMetrics& metrics,
                     const Clock& clock)
    : conninfo_(std::move(conninfo)), config_(config), metrics_(metrics), clock_(clock) {
  for (std::size_t i = 0; i < config.outboxes.size(); ++i) {
    if (!config.outboxes[i].retention.wanted()) continue;
    jobs_.emplace_back();
    jobs_.back().outbox = i;
    metrics_.retention(i).wanted.set(1);
  }
}

void Retention::step(Instant now, const std::optional<Stream>& stream) {
  if (jobs_.empty()) return;
  if (!stream) {
    active_ = false;
    if (job_ != nullptr) end(now);
    return;
  }
  if (!std::exchange(active_, true)) {
    for (Job& job : jobs_) job.due = now + kFirstRunAfter;
  }
  if (job_ != nullptr) return drive(now, *stream);
  Job& next = next_job();
  if (now >= next.due) begin(next, now);
}

void Retention::begin(Job& job, Instant now) {
  job_ = &job;
  began_ = now;
  worked_ = Duration::zero();
  asked_at_ = now;
  connection_.connect(conninfo_(), now);
}

void Retention::drive(Instant now, const Stream& stream) {
  const State state = connection_.step(now);
  if (state == State::closed) return failed(connection_.error().message, now);
  if (state == State::busy && run_ && now >= asked_at_ + run_->patience()) {
    return failed(connection_.target().to_string() + ": no answer to a statement of retention in time", now);
  }
  if (state != State::ready) return;
  if (!run_) {
    run_.emplace(config_.outboxes[job_->outbox],
                 RetentionRun::Setting{config_.postgres.slot, stream.walsender, PQserverVersion(connection_.raw()),
                                       now >= job_->count_due});
  }
  if (std::exchange(asked_, false)) take_answer(now);
  if (run_) ask_next(now, stream);
}

void Retention::take_answer(Instant now) {
  PgResultHandle result = connection_.take_result();
  const auto status = result ? PQresultStatus(result.get()) : PGRES_FATAL_ERROR;
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) return failed(connection_.error().message, now);
  const auto affected = affected_rows(result.get());
  worked_ += now - asked_at_;
  run_->answer(PgRows(std::move(result)), affected, now, now - asked_at_);
  auto& metrics = metrics_.retention(job_->outbox);
  metrics.deleted_rows.add(static_cast<std::uint64_t>(run_->deleted_rows()));
  if (run_->dropped_partition().empty()) return;
  metrics.dropped_partitions.add(1);
  log_info("partition_dropped", "all rows of the partition are published, and none is to be kept: it is dropped",
           {{"table", config_.outboxes[job_->outbox].table}, {"partition", run_->dropped_partition()}});
}

void Retention::ask_next(Instant now, const Stream& stream) {
  const auto next = run_->next(now, stream.confirmed);
  if (next != RetentionRun::Next::publish) waits_since_.reset();
  switch (next) {
    case RetentionRun::Next::ask: {
      const auto statement = run_->statement();
      asked_ = true;
      asked_at_ = now;
      return connection_.query(statement.sql, statement.parameters);
    }
    case RetentionRun::Next::publish:
      if (!waits_since_) waits_since_ = now;
      if (now - *waits_since_ >= kPublicationWait) return end(now);
      wake_ = now + kPublicationLook;
      return;
    case RetentionRun::Next::rest:
      wake_ = run_->rest_until();
      return;
    case RetentionRun::Next::done:
      return done(now);
    case RetentionRun::Next::failed:
      return failed(run_->failure(), now);
  }
}

void Retention::done(Instant now) {
  if (run_->counted_in_vain()) job_->count_due = now + kCountPause;
  metrics_.retention(job_->outbox).last_run.set(clock_.wall());
  if (std::exchange(job_->failing, false)) {
    job_->told.clear();
    log_info("retention_resumed", "retention works again", {{"table", config_.outboxes[job_->outbox].table}});
  }
  end(now);
}

void Retention::failed(const std::string& reason, Instant now) {
  Job& job = *job_;
  const auto& rules = config_.outboxes[job.outbox];
  const auto why = fmt::format("retention of table \"{}\": {}", rules.table, reason);
  metrics_.retention(job.outbox).errors.add(1);
  job.failing = true;
  if (job.told.worth_telling(why, now)) {
    log_warning("retention_failed", why, {{"table", rules.table}, {"next_try_ms", rules.retention.interval.count()}});
  }
  end(now);
}

// After much work comes as long a rest.
void Retention::end(Instant now) {
  job_->due = std::max(began_ + config_.outboxes[job_->outbox].retention.interval, now + worked_);
  job_ = nullptr;
  run_.reset();
  asked_ = false;
  waits_since_.reset();
  connection_.close();
}

int Retention::descriptor() const {
  const bool expects = connection_.state() == State::connecting || connection_.state() == State::busy;
  return expects ? connection_.descriptor() : -1;
}

Instant Retention::deadline() const {
  if (!active_) return Instant::max();
  if (job_ == nullptr) return std::min_element(jobs_.begin(), jobs_.end(), earlier)->due;
  return connection_.state() == State::ready ? wake_ : Instant::max();
}

}  // namespace walrelay
