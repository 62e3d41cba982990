#include "connector/postgres/transport.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace walrelay {
namespace {

// The kernel doubles it. Two segments of loopback (64 KiB each) have to fit, or it waits 200 ms for room.
constexpr int kReceiveBufferBytes = 128 * 1024;

using GetName = int (*)(int, sockaddr*, socklen_t*);

// False if it cannot be told.
bool read_address(GetName get, int socket, sockaddr_storage& address) {
  socklen_t length = sizeof address;
  return get(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0;
}

bool same_host(const sockaddr_storage& one, const sockaddr_storage& other) {
  if (one.ss_family != other.ss_family) return false;
  if (one.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(one).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(other).sin_addr.s_addr;
  }
  return one.ss_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(one).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(other).sin6_addr, sizeof(in6_addr)) == 0;
}

}  // namespace

Transport transport_of(int socket) {
  sockaddr_storage local{};
  sockaddr_storage peer{};
  if (!read_address(::getsockname, socket, local) || !read_address(::getpeername, socket, peer)) {
    return Transport::network;
  }
  if (local.ss_family == AF_UNIX) return Transport::unix_socket;
  return same_host(local, peer) ? Transport::loopback : Transport::network;
}

void bound_receive_buffer(int socket) {
  [[maybe_unused]] const int result =
      ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes, sizeof kReceiveBufferBytes);
}

void wake_from(int socket, int bytes) {
  [[maybe_unused]] const int result = ::setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
}

}  // namespace walrelay
