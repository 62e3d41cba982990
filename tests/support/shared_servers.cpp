#include "tests/support/shared_servers.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <stdexcept>

#include "tests/support/kafka_broker.h"
#include "tests/support/postgres_server.h"

namespace walrelay::test {

// A line with PostgreSQL's connection string and one with Kafka's address.
ServerAddresses read_addresses(const std::string& file) {
  std::ifstream in(file);
  ServerAddresses addresses;
  if (!std::getline(in, addresses.postgres) || !std::getline(in, addresses.kafka)) {
    throw std::runtime_error(fmt::format("no servers named in {}: run the test through ctest", file));
  }
  return addresses;
}

const std::string& shared_postgres() {
  static const std::string address = [] {
    if (const char* file = std::getenv("WALRELAY_TEST_SERVERS")) return read_addresses(file).postgres;
    static PostgresServer own;
    return own.dsn();
  }();
  return address;
}

const std::string& shared_kafka() {
  static const std::string address = [] {
    if (const char* file = std::getenv("WALRELAY_TEST_SERVERS")) return read_addresses(file).kafka;
    static KafkaBroker own;
    return own.address();
  }();
  return address;
}

std::string unique_name() {
  static std::random_device random;
  return fmt::format("t{:08x}{:08x}", random(), random());
}

}  // namespace walrelay::test
