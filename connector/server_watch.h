#pragma once
// The second, ordinary connection of the loop: asks once a second where the server stands and what became of the slot,
// also while nothing is read from the stream, and notices a shutdown, which a walsender with unconfirmed data would
// hold up. Also answers what only the catalog knows. PostgreSQL manual, "pg_replication_slots". Thread: the loop
// thread.

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "connector/backoff.h"
#include "connector/clock.h"
#include "connector/postgres/async_connection.h"
#include "connector/postgres/catalog.h"
#include "decoder/pgoutput_messages.h"

namespace walrelay {

struct SlotFacts {
  bool logical = false;
  bool temporary = false;
  bool synced = false;  // 17+: a copy kept by a standby, or, on a primary, left from when it was one
  bool active = false;
  int active_pid = 0;
  std::string plugin;
  std::string database;
  std::string wal_status;  // reserved, extended, unreserved, lost; "" where the server has none
  Lsn confirmed;           // confirmed_flush_lsn; still there when the slot is lost
  std::optional<std::int64_t> retained_bytes;
  // That may still be written before the slot can be lost, negative past that point; none where the server has no
  // limit.
  std::optional<std::int64_t> safe_bytes;
};

struct ServerFacts {
  Instant as_of{};  // when the answer came
  int version = 0;  // 150018
  bool in_recovery = false;
  Lsn position;  // flushed; replayed in recovery
  std::string wal_level;
  std::string database;
  std::chrono::milliseconds wal_sender_timeout{0};  // 0: off
  std::optional<SlotFacts> slot;
  bool publication_exists = false;
  bool publishes_inserts = false;
};

// What the catalog says of a relation that the stream named.
struct Ancestry {
  RelationId relation_id = 0;
  bool known = false;                   // false: it was dropped, or may be a partition that was detached
  std::optional<std::string> ancestor;  // the configured table that it is a partition of
};

// The configured tables, in their order, with name and columns alone; a table that is not there has none.
struct TableLook {
  std::vector<TableInfo> tables;
  std::string refused;  // why the catalog does not tell; "" if it does
};

class ServerWatch {
 public:
  static constexpr Duration kFactsInterval = std::chrono::seconds(1);
  static constexpr Duration kPublicationInterval = std::chrono::seconds(30);

  // `tables`: the configured ones, "schema.table".
  // `conninfo` is asked at every connect.
  ServerWatch(std::function<Conninfo()> conninfo, std::string slot, std::string publication,
              std::vector<std::string> tables, std::uint64_t seed);

  // `readable`: its descriptor is.
  void step(Instant now, bool readable);
  void refresh(Instant now) { facts_due_ = now; }
  // Earlier than by the interval.
  void refresh_by(Instant due) { facts_due_ = std::min(facts_due_, due); }

  // Of the present connection; none while it is not there.
  [[nodiscard]] const std::optional<ServerFacts>& facts() const { return facts_; }
  // wal_sender_timeout; PostgreSQL's default while it is not known.
  [[nodiscard]] std::chrono::milliseconds sender_timeout() const {
    return facts_ ? facts_->wal_sender_timeout : std::chrono::milliseconds(60'000);
  }
  // Why there are none; "" before the first failure.
  [[nodiscard]] const SourceError& failure() const { return failure_; }
  // Since when the server has been shutting down.
  [[nodiscard]] std::optional<Instant> shutdown_since() const { return shutdown_since_; }
  // Configured tables that the publication does not have (any more); none before the first look.
  [[nodiscard]] const std::optional<std::vector<std::string>>& unpublished() const { return unpublished_; }

  void look_up(RelationId relation_id);
  [[nodiscard]] std::optional<Ancestry> take_ancestry() { return std::exchange(ancestry_, std::nullopt); }

  // Asks anew; until it is answered there is none.
  void look_at_tables() { table_look_.reset(); }
  [[nodiscard]] const std::optional<TableLook>& table_look() const { return table_look_; }

  [[nodiscard]] const PgTarget& target() const { return target_; }
  [[nodiscard]] bool tls() const { return connection_.raw() != nullptr && PQsslInUse(connection_.raw()) != 0; }
  [[nodiscard]] int descriptor() const { return connection_.descriptor(); }
  [[nodiscard]] bool wants_write() const { return connection_.wants_write(); }
  [[nodiscard]] Instant deadline() const;

 private:
  enum class Question : std::uint8_t { none, facts, publication, tables, ancestry };

  void ask_next(Instant now);
  void ask(Question question, const std::string& sql, const std::vector<std::string>& parameters);
  void take_answer(Instant now);
  void take_tables(const PGresult* result);
  void lost(Instant now);
  [[nodiscard]] std::vector<std::string> names_as_arrays() const;

  std::function<Conninfo()> conninfo_;
  PgTarget target_;
  std::string slot_;
  std::string publication_;
  std::vector<std::string> tables_;
  AsyncConnection connection_;
  Backoff backoff_;
  Instant connect_at_{};
  Question question_ = Question::none;
  Instant facts_due_{};
  Instant publication_due_{};
  Instant answer_deadline_{};
  std::optional<RelationId> to_look_up_;
  RelationId looked_up_ = 0;
  std::optional<ServerFacts> facts_;
  std::optional<std::vector<std::string>> unpublished_;
  std::optional<Ancestry> ancestry_;
  std::optional<TableLook> table_look_{std::in_place};  // none: wanted
  std::optional<Instant> shutdown_since_;
  SourceError failure_;
};

}  // namespace walrelay
