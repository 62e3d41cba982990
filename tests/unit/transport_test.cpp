// Claims of connector/postgres/transport.h.
#include "connector/postgres/transport.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include "sinks/file_descriptor.h"
#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

struct Connection {
  FileDescriptor listener;
  FileDescriptor client;
};

template <typename Address>
sockaddr* generic(Address& address) {
  return reinterpret_cast<sockaddr*>(&address);
}

// To a port of the loopback address that the kernel chooses; not accepted, which a client does not notice. Nothing
// where the machine has no such address.
template <typename Address>
Connection connect_to(Address address) {
  Connection made{FileDescriptor(::socket(generic(address)->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0)),
                  FileDescriptor(::socket(generic(address)->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  socklen_t length = sizeof address;
  if (::bind(made.listener.get(), generic(address), length) != 0) return {};
  REQUIRE(::listen(made.listener.get(), 1) == 0);
  REQUIRE(::getsockname(made.listener.get(), generic(address), &length) == 0);
  REQUIRE(::connect(made.client.get(), generic(address), length) == 0);
  return made;
}

sockaddr_in loopback4() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

sockaddr_in6 loopback6() {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return address;
}

}  // namespace

TEST_CASE("TCP to this host is loopback, by IPv4") {
  CHECK(transport_of(connect_to(loopback4()).client.get()) == Transport::loopback);
}

TEST_CASE("TCP to this host is loopback, by IPv6") {
  const auto made = connect_to(loopback6());
  if (!made.client.valid()) {
    WARN("this machine has no IPv6");
    return;
  }
  CHECK(transport_of(made.client.get()) == Transport::loopback);
}

TEST_CASE("a Unix socket is told from TCP, and what is no socket is taken for a network") {
  std::array<int, 2> pair{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
  const FileDescriptor one(pair[0]);
  const FileDescriptor other(pair[1]);
  CHECK(transport_of(one.get()) == Transport::unix_socket);
  CHECK(transport_of(-1) == Transport::network);
}

TEST_CASE("a bounded receive buffer is one that the kernel no longer enlarges") {
  const auto made = connect_to(loopback4());
  bound_receive_buffer(made.client.get());
  int bytes = 0;
  socklen_t length = sizeof bytes;
  REQUIRE(::getsockopt(made.client.get(), SOL_SOCKET, SO_RCVBUF, &bytes, &length) == 0);
  CHECK(bytes == 2 * 128 * 1024);
}

TEST_CASE("a socket that wakes from some bytes on is not readable for fewer, and is at its end") {
  const auto made = connect_to(loopback4());
  FileDescriptor server(::accept(made.listener.get(), nullptr, nullptr));
  const auto readable = [&](int ms) {
    pollfd polled{.fd = made.client.get(), .events = POLLIN, .revents = 0};
    return ::poll(&polled, 1, ms) == 1;
  };
  const auto send = [&](std::size_t bytes) {
    const std::string text(bytes, 'x');
    REQUIRE(::send(server.get(), text.data(), bytes, 0) == static_cast<ssize_t>(bytes));
  };
  wake_from(made.client.get(), 100);
  send(99);
  CHECK_FALSE(readable(20));
  send(1);
  CHECK(readable(5000));

  std::array<char, 200> taken{};
  CHECK(::recv(made.client.get(), taken.data(), taken.size(), MSG_DONTWAIT) == 100);
  send(3);
  CHECK_FALSE(readable(20));
  wake_from(made.client.get(), 1);
  CHECK(readable(5000));
  wake_from(made.client.get(), 100);
  server = FileDescriptor();
  CHECK(readable(5000));
}

}  // namespace walrelay::test
