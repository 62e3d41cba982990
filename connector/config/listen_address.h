#pragma once
// Where the HTTP server listens: "127.0.0.1:9464", "[::1]:9464", "localhost:0".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace walrelay {

struct ListenAddress {
  std::string host;        // without brackets
  std::uint16_t port = 0;  // 0: any free one
};

// No value if the host is missing, or the port is not a number up to 65535.
[[nodiscard]] std::optional<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace walrelay
