#pragma once

#include <string>
#include <utility>
#include <vector>

namespace walrelay::test {

// Names and values of a server's configuration. Spelt out where it is passed, `PostgresServer
// server(ServerSettings{{"a", "b"}})`: bare braces could also mean a copy of a server.
using ServerSettings = std::vector<std::pair<std::string, std::string>>;

}  // namespace walrelay::test
