#pragma once
// Speaks as much of PostgreSQL's protocol as a connection pooler that refuses replication connections.

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace walrelay::test {

// Refuses every startup packet with PgBouncer's words. Listens on 127.0.0.1, on a port picked by the kernel.
class FakePooler {
 public:
  FakePooler();
  ~FakePooler();
  FakePooler(const FakePooler&) = delete;
  FakePooler& operator=(const FakePooler&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void serve();

  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace walrelay::test
