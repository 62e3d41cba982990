#pragma once
// Kafka's rights, given by the command that a page of the documentation shows.

#include <string>
#include <vector>

namespace walrelay::test {

// The commands `kafka-acls.sh` in a page, each on one line. Errors: std::runtime_error if there is none.
[[nodiscard]] std::vector<std::string> kafka_acls_commands(const std::string& page);

// Does what such a command does: "--add --allow-principal P [--operation O]... --topic T [--resource-pattern-type
// prefixed]"; where it connects to is `broker`. Errors: std::runtime_error.
void run_kafka_acls(const std::string& broker, const std::string& command);

}  // namespace walrelay::test
