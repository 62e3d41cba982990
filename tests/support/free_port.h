#pragma once

#include <cstdint>

namespace walrelay::test {

// A TCP port of 127.0.0.1 that nothing listens on now, below the range that outgoing connections take theirs from: a
// server that is down for a while finds its port free when it comes back, and a client that keeps trying cannot connect
// to itself. Another process may still be faster: a caller whose server cannot bind tries another one.
[[nodiscard]] std::uint16_t free_port();

}  // namespace walrelay::test
