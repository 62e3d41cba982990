#pragma once
// A transaction that is rolled back unless it was committed.

#include "connector/postgres/pg_connection.h"

namespace walrelay {

class PgTransaction {
 public:
  // `mode` as in BEGIN: "ISOLATION LEVEL REPEATABLE READ READ ONLY".
  explicit PgTransaction(PgConnection& connection, const std::string& mode = "") : connection_(connection) {
    connection_.exec("BEGIN " + mode);
  }
  PgTransaction(const PgTransaction&) = delete;
  PgTransaction& operator=(const PgTransaction&) = delete;
  ~PgTransaction() {
    if (!open_) return;
    try {
      connection_.exec("ROLLBACK");
    } catch (const PgError&) {
      // The connection is gone, and with it the transaction; whoever uses the connection next gets the error.
      open_ = false;
    }
  }

  void commit() {
    connection_.exec("COMMIT");
    open_ = false;
  }

 private:
  PgConnection& connection_;
  bool open_ = true;
};

}  // namespace walrelay
