#pragma once
// An ordinary connection to PostgreSQL for tests.

#include <optional>
#include <string>
#include <vector>

#include "connector/postgres/pg_handles.h"

namespace walrelay::test {

using PgRow = std::vector<std::optional<std::string>>;
using PgRows = std::vector<PgRow>;

// Errors: std::runtime_error with the statement and the server's message.
class PgSession {
 public:
  explicit PgSession(const std::string& dsn);

  void exec(const std::string& sql);  // one or several statements; one transaction unless they say otherwise
  [[nodiscard]] PgRows query(const std::string& sql);       // the rows of the last statement, as text
  [[nodiscard]] std::string value(const std::string& sql);  // the first column of the first row; "" for NULL or no row
  [[nodiscard]] PGconn* handle() const { return connection_.get(); }

 private:
  PgConnectionHandle connection_;
};

}  // namespace walrelay::test
