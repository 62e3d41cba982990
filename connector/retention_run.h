#pragma once
// One run of retention over one outbox: what to ask the server next, as far as the answers so far tell. Pure: it
// neither connects nor sleeps. Which rows may go and why: postgres/retention_sql.h. Thread: the loop thread.

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "connector/clock.h"
#include "connector/postgres/retention_sql.h"
#include "decoder/lsn.h"

namespace walrelay {

class RetentionRun {
 public:
  enum class Next : std::uint8_t {
    ask,      // statement()
    publish,  // wait until the relay has confirmed more
    rest,     // wait until rest_until()
    done,
    failed,  // see failure()
  };

  struct Setting {
    std::string slot;
    int walsender = 0;       // PID of the relay's own
    int server_version = 0;  // 150018
    bool may_count = true;   // the exact number of rows may be asked for, which reads all of them
  };

  // `rules` outlive it.
  RetentionRun(const OutboxRules& rules, Setting setting);

  [[nodiscard]] Next next(Instant now, Lsn confirmed) const;
  [[nodiscard]] SqlStatement statement() const;
  // How long its answer is waited for.
  [[nodiscard]] Duration patience() const;
  // Its answer, which came at `now` and took so long. `affected`: rows, of a statement that has none to return.
  void answer(const PgRows& rows, std::int64_t affected, Instant now, Duration took);

  [[nodiscard]] Instant rest_until() const { return rest_until_; }
  // One line for people, with the remedy.
  [[nodiscard]] const std::string& failure() const { return failure_; }

  // Of the last answer.
  [[nodiscard]] std::int64_t deleted_rows() const { return deleted_rows_; }
  [[nodiscard]] const std::string& dropped_partition() const { return dropped_partition_; }  // "": none
  // The rows were counted, and were not more than max_rows although the server's statistics said so.
  [[nodiscard]] bool counted_in_vain() const { return counted_in_vain_; }

 private:
  enum class Stage : std::uint8_t {
    facts,
    limit,  // how long a detachment may wait
    partitions,
    position,
    detach,
    mark,
    detached,
    drop,
    count,
    choose,
    remove,
    done,
  };

  void on_facts(const PgRow& row);
  void on_partitions(const PgRows& rows);
  void on_detached(const PgRows& rows);
  void on_count(std::int64_t rows);
  void on_chosen(const PgRows& rows);
  void on_removed(std::int64_t rows, Instant now, Duration took);
  void begin_rows();
  void begin_cap();
  void after_rows();
  void after_detachments();
  void fail(const RetentionProblem& problem) { failure_ = problem.what + "; remedy: " + problem.remedy; }
  [[nodiscard]] std::size_t choice_limit() const;
  [[nodiscard]] RowChoice choice() const;
  [[nodiscard]] bool concurrently() const;

  const OutboxRules& rules_;
  const Setting setting_;
  Stage stage_ = Stage::facts;
  RetentionFacts facts_;
  Lsn position_;  // what waits for publication may happen once the relay has confirmed it
  std::deque<Partition> expired_;
  std::deque<std::string> detached_;
  std::deque<RowBatch> batches_;
  bool by_age_ = false;         // what is chosen now: rows that are too old, or else those that are too many
  std::int64_t excess_ = 0;     // rows that are too many
  std::size_t chosen_ = 0;      // by the last choice
  std::int64_t of_choice_ = 0;  // of them, deleted
  Instant rest_until_{};
  std::int64_t deleted_rows_ = 0;
  std::string dropped_partition_;
  bool counted_in_vain_ = false;
  std::string failure_;
};

}  // namespace walrelay
