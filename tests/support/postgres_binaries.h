#pragma once
// Where the programs of a PostgreSQL server are.

#include <string>

namespace walrelay::test {

// The major version that servers have where a test does not choose one: $WALRELAY_PG_VERSION, by which ctest runs cases
// once more with another server, or the newest of /usr/lib/postgresql.
[[nodiscard]] int default_postgres_version();

// The directory of initdb, postgres, pg_basebackup and the like: of the system, or unpacked by
// tests/support/postgres-server. Errors: std::runtime_error if this version is in neither place.
[[nodiscard]] std::string postgres_binaries(int version);

}  // namespace walrelay::test
