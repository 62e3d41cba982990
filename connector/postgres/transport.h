#pragma once
// What a connection runs over, as far as reading it in heaps is concerned (connector/read_pace.h). Any thread.

#include <cstdint>

namespace walrelay {

enum class Transport : std::uint8_t {
  unix_socket,  // holds few rows (net.core.wmem_default), each as it was sent
  loopback,     // TCP to an address of this host
  network,
};

// Of a connected socket; network if the kernel does not tell.
[[nodiscard]] Transport transport_of(int socket);

// For loopback: once this much is unread, the kernel only queues what the server sends, and hands it over in large
// pieces. Left to itself it lets megabytes through, one row at a time, at twice the cost to the server
// (docs/benchmarks.md). Not for a network, where a small window would bound the rate by the round trip. An error is
// ignored: it costs speed only.
void bound_receive_buffer(int socket);

// Whoever polls the socket for reading is woken once this many bytes have come, and not for fewer; its end wakes
// always. A Unix socket takes no notice. An error is ignored: it costs CPU only. socket(7), SO_RCVLOWAT.
void wake_from(int socket, int bytes);

}  // namespace walrelay
