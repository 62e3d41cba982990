#pragma once
// An outbox, a relay's configuration for it, and the oracle: what the table holds against what the topic holds.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "decoder/lsn.h"
#include "tests/support/postgres_server.h"
#include "tests/support/relay_process.h"
#include "tests/support/topic_reader.h"

namespace walrelay::test {

// Which rows a topic has, compared with the table. A row is one key's n-th; of one key, they commit in the order of n.
struct Comparison {
  std::size_t rows = 0;                          // in the table
  std::size_t missing = 0;                       // of them, not in the topic
  std::size_t repeats = 0;                       // records whose id came before
  std::size_t first_repeat = std::string::npos;  // of the rows that came again, the lowest n
  std::size_t foreign = 0;                       // records of no row, or with another row's key or value
  std::size_t disordered = 0;                    // first deliveries of a key that came before an earlier row of it

  // Every row, in order; repeats are another matter.
  [[nodiscard]] bool complete() const { return missing == 0 && foreign == 0 && disordered == 0; }
  [[nodiscard]] bool exact() const { return complete() && repeats == 0; }
  [[nodiscard]] std::string text() const;
};

// A table "outbox" with publication and slot in one database, and a topic of three partitions.
class Outbox {
 public:
  // `admin`: of a superuser. `relay_dsn`: what the relay connects with. Slot and publication have the name `name`.
  Outbox(std::string admin, std::string relay_dsn, std::string name, std::string broker);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& topic() const { return name_; }
  // `delivery`: lines of [delivery]; `more`: whole sections.
  [[nodiscard]] std::string configuration(const std::string& delivery = "", const std::string& more = "") const;

  // The next `count` rows, each in a transaction of its own, spread over some keys; `padding` bytes longer. A row says
  // where the log ended before it.
  void insert(std::size_t count, std::size_t padding = 0);
  // The same in one transaction.
  void insert_at_once(std::size_t count);
  [[nodiscard]] std::size_t inserted() const { return inserted_; }
  // After a crash of the server in the midst of an insert(): the next one goes on behind what the table has.
  void go_on_numbering();

  // On a connection that is made anew when the server was away. insert() has one of its own, so that it can go on in
  // the background.
  [[nodiscard]] PgSession& session() { return live(session_); }
  [[nodiscard]] Lsn confirmed();  // the slot's
  [[nodiscard]] Lsn end_of_wal();
  [[nodiscard]] std::string walsender_pid();  // "" if the slot is not in use

  // Reads the topic until every row is there, or the time is over, and then what is behind.
  [[nodiscard]] Comparison compare(std::chrono::milliseconds at_most = std::chrono::seconds(60));
  [[nodiscard]] std::string broker() const { return broker_; }
  // Until the slot has confirmed all that the server has written up to now.
  [[nodiscard]] bool wait_confirmed(std::chrono::milliseconds at_most = std::chrono::seconds(30));

 private:
  PgSession& live(std::unique_ptr<PgSession>& session) const;

  std::string admin_;
  std::string relay_dsn_;
  std::string name_;
  std::string broker_;
  std::atomic<std::size_t> inserted_{0};
  std::unique_ptr<PgSession> session_;
  std::unique_ptr<PgSession> writer_;
};

// Runs `work` again and again on a thread of its own, until it is stopped. Ends quietly at the first exception.
class Background {
 public:
  explicit Background(std::function<void()> work, std::chrono::milliseconds pause = {});
  ~Background() { stop(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  void stop();

 private:
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// Polls a slot's confirmed position every 50 ms.
class SlotWatcher {
 public:
  SlotWatcher(const std::string& dsn, const std::string& slot);
  [[nodiscard]] Lsn highest() const { return Lsn{highest_}; }
  [[nodiscard]] std::size_t polls() const { return polls_; }
  [[nodiscard]] bool went_back() const { return went_back_; }

 private:
  PgSession session_;
  std::atomic<std::uint64_t> highest_{0};
  std::atomic<std::size_t> polls_{0};
  std::atomic<bool> went_back_{false};
  Background polling_;
};

// Rows for nobody on the outbox's database, WAL that moves all the time.
void keep_wal_moving(const std::string& dsn, std::chrono::milliseconds for_time);

// How often a text is in the log.
[[nodiscard]] std::size_t count_of(const std::string& log, const std::string& text);

}  // namespace walrelay::test
