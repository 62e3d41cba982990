#pragma once
// What a server or libpq refused, as an exception, and what that means for going on.
// PostgreSQL manual, appendix "PostgreSQL Error Codes".

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace walrelay {

enum class PgTrouble : std::uint8_t {
  retryable,  // may heal by itself: network, restart, slot active elsewhere, out of connections
  permanent,  // somebody has to change something: authentication, rights, database, configuration
  slot,       // slot missing, lost or of the wrong kind, or a publication missing: look at pg_replication_slots
};

// `sqlstate` is "" where the server gave none; then the (English) text of libpq decides.
[[nodiscard]] PgTrouble classify(std::string_view sqlstate, std::string_view message);

// True if the text is what a connection pooler says to a replication connection.
[[nodiscard]] bool sounds_like_pooler(std::string_view message);

// True if the server cannot put a row into a message: its text form, or the whole message, would be a gigabyte or more
// (a bytea doubles as text). It would fail again at each try.
[[nodiscard]] bool sounds_like_oversized_row(std::string_view sqlstate, std::string_view message);

class PgError : public std::runtime_error {
 public:
  // `reason` is one line, for people, without secrets; `remedy` what to do about it, "" if that is not known.
  PgError(std::string sqlstate, const std::string& reason, std::string remedy = "")
      : std::runtime_error(remedy.empty() ? reason : reason + "; " + remedy),
        trouble_(classify(sqlstate, reason)),
        sqlstate_(std::move(sqlstate)),
        reason_(reason),
        remedy_(std::move(remedy)) {}
  PgError(PgTrouble trouble, const std::string& reason)
      : std::runtime_error(reason), trouble_(trouble), reason_(reason) {}

  [[nodiscard]] const std::string& sqlstate() const { return sqlstate_; }
  [[nodiscard]] PgTrouble trouble() const { return trouble_; }
  [[nodiscard]] std::string message() const { return what(); }  // reason and remedy
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] const std::string& remedy() const { return remedy_; }

 private:
  PgTrouble trouble_;
  std::string sqlstate_;
  std::string reason_;
  std::string remedy_;
};

}  // namespace walrelay
