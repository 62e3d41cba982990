#include "tests/support/fake_pooler.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string_view>

namespace walrelay::test {
namespace {

// "E", length, then fields of a letter and a text each, then a zero byte. PostgreSQL manual, "Message Formats".
std::string error_response() {
  std::string fields;
  for (const std::string_view field : {"SFATAL", "C08P01", "Munsupported startup parameter: replication"}) {
    fields += field;
    fields += '\0';
  }
  fields += '\0';
  const auto length = htonl(static_cast<std::uint32_t>(fields.size() + 4));
  std::string message = "E";
  message.append(reinterpret_cast<const char*>(&length), sizeof length);
  return message + fields;
}

void answer(int client) {
  constexpr std::size_t kSslRequestBytes = 8;
  std::array<char, 4096> packet{};
  while (true) {
    const auto got = recv(client, packet.data(), packet.size(), 0);
    if (got <= 0) return;
    if (static_cast<std::size_t>(got) == kSslRequestBytes) {
      if (send(client, "N", 1, MSG_NOSIGNAL) != 1) return;
      continue;
    }
    const auto refusal = error_response();
    if (send(client, refusal.data(), refusal.size(), MSG_NOSIGNAL) < 0) return;
    return;
  }
}

}  // namespace

FakePooler::FakePooler() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || bind(listener_, generic, length) != 0 || listen(listener_, 8) != 0 ||
      getsockname(listener_, generic, &length) != 0) {
    throw std::runtime_error("cannot listen on 127.0.0.1");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

FakePooler::~FakePooler() {
  stop_ = true;
  thread_.join();
  close(listener_);
}

void FakePooler::serve() {
  while (!stop_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (poll(&waiting, 1, 50) <= 0) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    answer(client);
    close(client);
  }
}

}  // namespace walrelay::test
