#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

namespace walrelay::test {
namespace {

constexpr int kPollMs = 20;  // how soon a freeze, a new connection or the end is seen

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

short events(bool read, bool write) { return static_cast<short>((read ? POLLIN : 0) | (write ? POLLOUT : 0)); }

int open_socket() { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }

}  // namespace

TcpProxy::TcpProxy(std::uint16_t target) : target_(target), listener_(open_socket()) {
  auto address = loopback(0);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || bind(listener_, generic, length) != 0 || listen(listener_, 16) != 0 ||
      getsockname(listener_, generic, &length) != 0) {
    throw std::runtime_error("cannot listen on 127.0.0.1");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

TcpProxy::~TcpProxy() {
  stop_ = true;
  thread_.join();
  for (const auto& pair : pairs_) {
    close(pair.client);
    close(pair.server);
  }
  close(listener_);
}

void TcpProxy::freeze() {
  const std::lock_guard lock(mutex_);
  for (auto& pair : pairs_) pair.frozen = true;
}

void TcpProxy::freeze_for_good() {
  freeze();
  const std::lock_guard lock(mutex_);
  frozen_ = true;
}

void TcpProxy::serve() {
  while (!stop_) {
    auto ready = wanted();
    if (poll(ready.data(), ready.size(), kPollMs) <= 0) continue;
    const std::lock_guard lock(mutex_);
    forward(std::span(ready).subspan(1));
    std::erase_if(pairs_, [](const Pair& pair) { return pair.client < 0; });
    if (ready[0].revents != 0) accept_client();
  }
}

// The listener, and both ends of every pair that is not frozen.
std::vector<pollfd> TcpProxy::wanted() {
  const std::lock_guard lock(mutex_);
  std::vector<pollfd> ends{{listener_, POLLIN, 0}};
  for (const auto& pair : pairs_) {
    if (pair.frozen) continue;
    ends.push_back({pair.client, events(pair.to_server.empty(), !pair.to_client.empty()), 0});
    ends.push_back({pair.server, events(pair.to_client.empty(), !pair.to_server.empty()), 0});
  }
  return ends;
}

void TcpProxy::accept_client() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  ++accepted_;
  const int server = open_socket();
  const auto address = loopback(target_);
  if (server >= 0 && connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      fcntl(server, F_SETFL, O_NONBLOCK) == 0) {
    auto& pair = pairs_.emplace_back();
    pair.client = client;
    pair.server = server;
    pair.frozen = frozen_;
  } else {
    close(client);
    close(server);
  }
}

// Only this thread adds and removes pairs; a pair that was frozen since `ready` was asked for is not forwarded.
void TcpProxy::forward(std::span<const pollfd> ready) {
  for (auto& pair : pairs_) {
    if (ready.empty()) return;
    if (ready[0].fd != pair.client) continue;
    const bool quiet = ready[0].revents == 0 && ready[1].revents == 0;
    ready = ready.subspan(2);
    if (pair.frozen || quiet) continue;
    if (pair.to_server.pass(pair.client, pair.server) && pair.to_client.pass(pair.server, pair.client)) continue;
    close(pair.client);
    close(pair.server);
    pair.client = -1;
  }
}

// Moves what can be moved at once. False once one of the two is gone.
bool TcpProxy::Flow::pass(int from, int to) {
  if (empty()) {
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): these sockets do not block
    const auto got = recv(from, bytes.data(), bytes.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return false;
    begin = 0;
    end = got < 0 ? 0 : static_cast<std::size_t>(got);
  }
  if (empty()) return true;
  const auto sent = send(to, bytes.data() + begin, end - begin, MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN;
  begin += static_cast<std::size_t>(sent);
  return true;
}

}  // namespace walrelay::test
