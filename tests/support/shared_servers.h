#pragma once
// One PostgreSQL and one Kafka for all integration tests that do not disturb them. Under ctest they are started by the
// fixture "servers" (tests/integration.cmake); a test program that is run by hand starts its own.

#include <string>

namespace walrelay::test {

[[nodiscard]] const std::string& shared_postgres();  // libpq connection string of its database "postgres", superuser
[[nodiscard]] const std::string& shared_kafka();     // bootstrap address

// What the fixture wrote to `file`. Errors: std::runtime_error.
struct ServerAddresses {
  std::string postgres;
  std::string kafka;
};
[[nodiscard]] ServerAddresses read_addresses(const std::string& file);

// A name that no other test uses: "t" and 16 hexadecimal digits; good for topics, slots, tables, databases.
[[nodiscard]] std::string unique_name();

}  // namespace walrelay::test
