#pragma once
// Outbox tables in a database of their own, and a relay that brings their rows to the shared broker.

#include <optional>
#include <string>
#include <vector>

#include "tests/support/postgres_server.h"
#include "tests/support/relay_process.h"
#include "tests/support/topic_reader.h"

namespace walrelay::test {

// Errors: std::runtime_error with what the program said.
class OutboxCase {
 public:
  [[nodiscard]] TestDatabase& database() { return database_; }
  // Of the database, the slot, the publication; what this test's topics begin or end with.
  [[nodiscard]] const std::string& name() const { return database_.name(); }

  void exec(const std::string& sql) { database_.exec(sql); }
  void add_outbox(const std::string& toml) { outboxes_ += "[[outbox]]\n" + toml + "\n"; }
  void add_settings(const std::string& toml) { settings_ += toml + "\n"; }  // sections that follow the outboxes
  void set_sink(const std::string& toml) { sink_ = toml; }                  // instead of the shared broker's section
  void set_publication(const std::string& publication) { publication_ = publication; }
  void set_dsn(const std::string& dsn) { dsn_ = dsn; }

  [[nodiscard]] std::string configuration() const;  // without [http]

  [[nodiscard]] CommandResult run(const std::string& command, const std::vector<std::string>& arguments = {},
                                  const ProcessOptions& options = {}) const;
  void init() const;   // `walrelay init`
  void drain() const;  // `walrelay run --drain`: all that is committed is delivered and confirmed

  // Everything in the topic; nothing if it does not appear.
  [[nodiscard]] static std::vector<TopicRecord> records(const std::string& topic);
  // The values alone, in order.
  [[nodiscard]] static std::vector<std::string> values(const std::string& topic);

  [[nodiscard]] std::string confirmed();  // confirmed_flush_lsn
  // Whether the slot's confirmed position is at or past this one.
  [[nodiscard]] bool confirmed_reaches(const std::string& lsn);
  [[nodiscard]] std::string wal_position() { return database_.value("SELECT pg_current_wal_insert_lsn()"); }
  // Waits until everything that is committed now is delivered and confirmed by a running relay.
  [[nodiscard]] bool wait_drained();

 private:
  TestDatabase database_;
  std::string publication_ = database_.name();
  std::string dsn_ = database_.dsn();
  std::string outboxes_;
  std::string settings_;
  std::optional<std::string> sink_;
};

// `text` as a TOML string.
[[nodiscard]] std::string toml_quoted(const std::string& text);

}  // namespace walrelay::test
