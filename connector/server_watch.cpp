#include "connector/server_watch.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "connector/postgres/pg_quote.h"

namespace walrelay {

namespace {

using State = AsyncConnection::State;

constexpr Duration kAnswerTimeout = std::chrono::seconds(10);  // wal_sender_timeout, where that is shorter

constexpr const char* kWatchSql = R"(
SELECT current_setting('server_version_num') AS version, r.recovering, r.position, current_setting('wal_level') AS wal_level,
       current_database() AS database, (SELECT setting FROM pg_settings WHERE name = 'wal_sender_timeout') AS sender_timeout,
       s.slot_name, s.slot_type, s.temporary, s.active, s.active_pid, s.plugin, s.database AS slot_database, s.wal_status,
       s.confirmed_flush_lsn, (to_jsonb(s)->>'synced')::boolean AS synced, pg_wal_lsn_diff(r.position, s.restart_lsn)::bigint AS retained,
       s.safe_wal_size, p.pubname, p.pubinsert
FROM (SELECT pg_is_in_recovery() AS recovering,
             CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END AS position) r
LEFT JOIN pg_replication_slots s ON s.slot_name = $1::name
LEFT JOIN pg_publication p ON p.pubname = $2::name)";

// The configured tables of which neither they nor a partition of theirs is published.
constexpr const char* kUnpublishedSql = R"(
SELECT o.ordinal FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS o(schema, name, ordinal)
WHERE NOT EXISTS (
  SELECT FROM pg_publication_tables t
  JOIN pg_namespace n ON n.nspname = t.schemaname JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename
  CROSS JOIN LATERAL (SELECT c.oid UNION ALL SELECT relid FROM pg_partition_ancestors(c.oid)) a(oid)
  JOIN pg_class ac ON ac.oid = a.oid JOIN pg_namespace an ON an.oid = ac.relnamespace
  WHERE t.pubname = $1::name AND an.nspname = o.schema AND ac.relname = o.name))";

// A partition that has been detached since its row was written: it is not published any more, and has all columns of a
// configured root.
constexpr const char* kAncestrySql = R"(
WITH configured AS (
  SELECT c.oid, c.relkind, o.ordinal FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS o(schema, name, ordinal)
  JOIN pg_namespace n ON n.nspname = o.schema JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = o.name)
SELECT c.oid IS NOT NULL AND (a.ordinal IS NOT NULL OR d.published OR NOT d.like_a_partition) AS known, a.ordinal
FROM (SELECT $1::oid AS oid) q LEFT JOIN pg_class c ON c.oid = q.oid LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN LATERAL (SELECT ordinal FROM pg_partition_ancestors(c.oid) a JOIN configured r ON r.oid = a.relid LIMIT 1) a ON true
CROSS JOIN LATERAL (SELECT
  EXISTS (SELECT FROM pg_publication_tables t
          WHERE t.pubname = $4::name AND t.schemaname = n.nspname AND t.tablename = c.relname) AS published,
  EXISTS (SELECT FROM configured r WHERE r.relkind = 'p' AND NOT EXISTS (
    SELECT attname FROM pg_attribute WHERE attrelid = r.oid AND attnum > 0 AND NOT attisdropped
    EXCEPT SELECT attname FROM pg_attribute WHERE attrelid = c.oid AND NOT attisdropped)) AS like_a_partition) d)";

// One row of a result, by column name.
class AnswerRow {
 public:
  AnswerRow(const PGresult* result, int row) : result_(result), row_(row) {}
  [[nodiscard]] bool null(const char* name) const { return PQgetisnull(result_, row_, PQfnumber(result_, name)) != 0; }
  [[nodiscard]] std::string text(const char* name) const { return PQgetvalue(result_, row_, PQfnumber(result_, name)); }
  [[nodiscard]] bool flag(const char* name) const { return text(name) == "t"; }
  [[nodiscard]] Lsn lsn(const char* name) const { return Lsn::parse(text(name)).value_or(Lsn{}); }
  [[nodiscard]] std::int64_t number(const char* name) const {
    const std::string digits = text(name);
    std::int64_t parsed = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), parsed);
    return parsed;
  }

 private:
  const PGresult* result_;
  int row_;
};

SlotFacts slot_facts(const AnswerRow& row) {
  SlotFacts slot;
  slot.logical = row.text("slot_type") == "logical";
  slot.temporary = row.flag("temporary");
  slot.synced = row.flag("synced");
  slot.active = row.flag("active");
  slot.active_pid = static_cast<int>(row.number("active_pid"));
  slot.plugin = row.text("plugin");
  slot.database = row.text("slot_database");
  slot.wal_status = row.text("wal_status");
  slot.confirmed = row.lsn("confirmed_flush_lsn");
  if (!row.null("retained")) slot.retained_bytes = std::max<std::int64_t>(0, row.number("retained"));
  if (!row.null("safe_wal_size")) slot.safe_bytes = row.number("safe_wal_size");
  return slot;
}

ServerFacts server_facts(const AnswerRow& row, Instant now) {
  ServerFacts facts;
  facts.as_of = now;
  facts.version = static_cast<int>(row.number("version"));
  facts.in_recovery = row.flag("recovering");
  facts.position = row.lsn("position");
  facts.wal_level = row.text("wal_level");
  facts.database = row.text("database");
  facts.wal_sender_timeout = std::chrono::milliseconds(row.number("sender_timeout"));
  if (!row.null("slot_name")) facts.slot = slot_facts(row);
  facts.publication_exists = !row.null("pubname");
  facts.publishes_inserts = row.flag("pubinsert");
  return facts;
}

bool says_shutdown(const SourceError& error) { return error.sqlstate == "57P01" || error.sqlstate == "57P03"; }

}  // namespace

ServerWatch::ServerWatch(std::function<Conninfo()> conninfo, std::string slot, std::string publication,
                         std::vector<std::string> tables, std::uint64_t seed)
    : conninfo_(std::move(conninfo)),
      target_(conninfo_().target()),
      slot_(std::move(slot)),
      publication_(std::move(publication)),
      tables_(std::move(tables)),
      backoff_({}, seed) {}

void ServerWatch::step(Instant now, bool readable) {
  if (connection_.state() == State::closed) {
    if (now < connect_at_) return;
    connection_.connect(conninfo_(), now);
    question_ = Question::none;
  }
  if (connection_.state() == State::ready && readable) connection_.check_idle();
  const State state = connection_.step(now);
  if (state == State::closed) return lost(now);
  if (state == State::busy && now >= answer_deadline_) {
    connection_.abandon({"", target().to_string() + ": no answer to a query in time"});
    return lost(now);
  }
  if (state != State::ready) return;
  if (question_ != Question::none) take_answer(now);
  ask_next(now);
}

void ServerWatch::ask_next(Instant now) {
  const Duration patience = sender_timeout();
  answer_deadline_ = now + (patience > Duration::zero() ? std::min(kAnswerTimeout, patience) : kAnswerTimeout);
  if (const auto wanted = std::exchange(to_look_up_, std::nullopt)) {
    looked_up_ = *wanted;
    auto parameters = names_as_arrays();
    parameters.insert(parameters.begin(), std::to_string(looked_up_));
    parameters.push_back(publication_);
    ask(Question::ancestry, kAncestrySql, parameters);
  } else if (!table_look_) {
    ask(Question::tables, kColumnsSql, names_as_arrays());
  } else if (now >= facts_due_) {
    facts_due_ = now + kFactsInterval;
    ask(Question::facts, kWatchSql, {slot_, publication_});
  } else if (now >= publication_due_) {
    publication_due_ = now + kPublicationInterval;
    auto parameters = names_as_arrays();
    parameters.insert(parameters.begin(), publication_);
    ask(Question::publication, kUnpublishedSql, parameters);
  }
}

void ServerWatch::ask(Question question, const std::string& sql, const std::vector<std::string>& parameters) {
  question_ = question;
  connection_.query(sql, parameters);
}

void ServerWatch::take_answer(Instant now) {
  const Question asked = std::exchange(question_, Question::none);
  const PgResultHandle result = connection_.take_result();
  if (!result || PQresultStatus(result.get()) != PGRES_TUPLES_OK) {
    failure_ = connection_.error();
    if (asked == Question::ancestry) to_look_up_ = looked_up_;
    if (asked == Question::tables) table_look_ = TableLook{{}, failure_.message};
    return;
  }
  if (asked == Question::tables) return take_tables(result.get());
  if (asked == Question::publication) {
    unpublished_.emplace();
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      unpublished_->push_back(tables_.at(static_cast<std::size_t>(AnswerRow(result.get(), row).number("ordinal")) - 1));
    }
    return;
  }
  const AnswerRow row(result.get(), 0);
  if (asked == Question::facts) {
    facts_ = server_facts(row, now);
    shutdown_since_.reset();
    failure_ = {};
    backoff_.reset();
  } else {
    ancestry_ = Ancestry{looked_up_, row.flag("known"), std::nullopt};
    if (!row.null("ordinal")) ancestry_->ancestor = tables_.at(static_cast<std::size_t>(row.number("ordinal")) - 1);
  }
}

void ServerWatch::take_tables(const PGresult* result) {
  auto& tables = table_look_.emplace().tables;
  for (const auto& table : tables_) {
    TableName split = split_table(table);
    tables.emplace_back().schema = std::move(split.schema);
    tables.back().name = std::move(split.name);
  }
  for (int i = 0; i < PQntuples(result); ++i) {
    const AnswerRow row(result, i);
    tables.at(static_cast<std::size_t>(row.number("ordinal")) - 1)
        .add_column(row.flag("generated"), {row.text("name"), row.text("type")});
  }
}

void ServerWatch::lost(Instant now) {
  failure_ = connection_.error();
  if (says_shutdown(failure_) && !shutdown_since_) shutdown_since_ = now;
  if (question_ == Question::ancestry) to_look_up_ = looked_up_;
  question_ = Question::none;
  facts_.reset();
  facts_due_ = now;
  publication_due_ = now;
  connect_at_ = now + backoff_.next();
}

void ServerWatch::look_up(RelationId relation_id) { to_look_up_ = relation_id; }

Instant ServerWatch::deadline() const {
  if (connection_.state() == State::closed) return connect_at_;
  if (connection_.state() == State::ready)
    return to_look_up_ || !table_look_ ? Instant{} : std::min(facts_due_, publication_due_);
  return answer_deadline_;
}

std::vector<std::string> ServerWatch::names_as_arrays() const {
  std::vector<std::string> schemas;
  std::vector<std::string> names;
  for (const auto& table : tables_) {
    const TableName split = split_table(table);
    schemas.push_back(split.schema);
    names.push_back(split.name);
  }
  return {array_text(schemas), array_text(names)};
}

}  // namespace walrelay
