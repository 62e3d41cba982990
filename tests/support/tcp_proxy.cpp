#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <vector>

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
    std::vector<pollfd> waiting{{listener_, POLLIN, 0}};
    std::vector<Pair*> of_pair;
    {
      const std::lock_guard lock(mutex_);
      for (auto& pair : pairs_) {
        if (pair.frozen) continue;
        of_pair.push_back(&pair);
        waiting.push_back({pair.client, POLLIN, 0});
        waiting.push_back({pair.server, POLLIN, 0});
      }
    }
    if (poll(waiting.data(), waiting.size(), kPollMs) <= 0) continue;
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < of_pair.size(); ++i)
      forward(*of_pair[i], waiting[2 * i + 1].revents, waiting[2 * i + 2].revents);
    std::erase_if(pairs_, [](const Pair& pair) { return pair.client < 0; });
    if (waiting[0].revents != 0) accept_client();
  }
}

void TcpProxy::accept_client() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  ++accepted_;
  const int server = open_socket();
  const auto address = loopback(target_);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    pairs_.push_back({client, server, frozen_});
  } else {
    close(client);
    close(server);
  }
}

void TcpProxy::forward(Pair& pair, short client_events, short server_events) {
  if (pair.frozen) return;
  const bool alive =
      (client_events == 0 || pass(pair.client, pair.server)) && (server_events == 0 || pass(pair.server, pair.client));
  if (alive) return;
  close(pair.client);
  close(pair.server);
  pair.client = -1;
}

bool TcpProxy::pass(int from, int to) {
  std::array<char, 65536> bytes{};
  const auto got = recv(from, bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  for (ssize_t sent = 0; sent < got;) {
    const auto now = send(to, bytes.data() + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
    if (now <= 0) return false;
    sent += now;
  }
  return true;
}

}  // namespace walrelay::test
