#include "connector/postgres/pg_error.h"

#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

TEST_CASE("authentication, rights, database and unsupported features are permanent") {
  for (const char* sqlstate : {"28P01", "28000", "3D000", "42501", "0A000", "22023", "42601", "42P01", "57P04"}) {
    CAPTURE(sqlstate);
    CHECK(classify(sqlstate, "") == PgTrouble::permanent);
  }
}

TEST_CASE("shutdown, lost connections, a full server and a slot in use are retried") {
  for (const char* sqlstate : {"57P01", "57P02", "57P03", "08006", "53300", "55006", "58030", "XX000", "40001"}) {
    CAPTURE(sqlstate);
    CHECK(classify(sqlstate, "") == PgTrouble::retryable);
  }
}

TEST_CASE("a missing or invalidated slot asks for a look at the slot") {
  CHECK(classify("42704", "replication slot \"s\" does not exist") == PgTrouble::slot);
  CHECK(classify("55000", "cannot read from logical replication slot \"s\"") == PgTrouble::slot);
}

TEST_CASE("without an SQLSTATE the text of libpq decides") {
  CHECK(classify("", "connection refused") == PgTrouble::retryable);
  CHECK(classify("", "could not translate host name \"db\" to address") == PgTrouble::retryable);
  CHECK(classify("", "fe_sendauth: no password supplied") == PgTrouble::permanent);
  CHECK(classify("", "server does not support SSL, but SSL was required") == PgTrouble::permanent);
  CHECK(classify("", "SSL error: certificate verify failed") == PgTrouble::permanent);
}

TEST_CASE("a pooler in the middle is permanent, though its SQLSTATE says connection trouble") {
  const char* message = "FATAL: unsupported startup parameter: replication";
  CHECK(sounds_like_pooler(message));
  CHECK(classify("08P01", message) == PgTrouble::permanent);
  CHECK(classify("", message) == PgTrouble::permanent);  // PgBouncer 1.18 sends no SQLSTATE
  CHECK_FALSE(sounds_like_pooler("FATAL: password authentication failed for user \"relay\""));
}

TEST_CASE("an error's message is its reason and its remedy") {
  const PgError error("28P01", "no entry", "check the password");
  CHECK(error.message() == "no entry; check the password");
  CHECK(error.reason() == "no entry");
  CHECK(error.trouble() == PgTrouble::permanent);
}

}  // namespace
TEST_CASE("a row that the server cannot send is told from a server that lacks memory") {
  CHECK(sounds_like_oversized_row("XX000", "invalid memory alloc request size 1076000003"));
  CHECK(sounds_like_oversized_row("54000",
                                  "out of memory (Cannot enlarge string buffer containing 96 bytes by "
                                  "1073741000 more bytes.)"));
  CHECK(sounds_like_oversized_row("54000", "string buffer exceeds maximum allowed length (1073741823 bytes)"));
  CHECK_FALSE(sounds_like_oversized_row("53200", "out of memory (Failed on request of size 8192.)"));
  CHECK_FALSE(sounds_like_oversized_row("54000", "target lists can have at most 1664 entries"));
  CHECK_FALSE(sounds_like_oversized_row("XX000", "cache lookup failed for relation 16384"));
}

}  // namespace walrelay::test
