#include "tests/support/free_port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>

namespace walrelay::test {
namespace {

// Below 32768, where Linux begins to take the ports of outgoing connections from, and above most well-known ones.
constexpr std::uint16_t kFirstPort = 20'000;
constexpr std::uint16_t kLastPort = 32'000;
constexpr int kAttemptsMax = 200;

bool can_listen(std::uint16_t port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(descriptor);
  return bound;
}

}  // namespace

std::uint16_t free_port() {
  static std::mt19937 random(std::random_device{}());
  std::uniform_int_distribution<std::uint16_t> any(kFirstPort, kLastPort);
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const std::uint16_t port = any(random);
    if (can_listen(port)) return port;
  }
  throw std::runtime_error("no free TCP port on 127.0.0.1");
}

}  // namespace walrelay::test
