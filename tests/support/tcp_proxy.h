#pragma once
// A network path to a server that can go dead without a word: no FIN, no RST, nothing forwarded.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>

namespace walrelay::test {

// Listens on 127.0.0.1, on a port picked by the kernel, and forwards to another port of 127.0.0.1. Errors:
// std::runtime_error.
class TcpProxy {
 public:
  explicit TcpProxy(std::uint16_t target);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // What is connected now stays connected, and nothing passes any more. New connections are as good as before.
  void freeze();
  // The same, and new connections are taken and get no answer either.
  void freeze_for_good();
  [[nodiscard]] std::size_t accepted() const { return accepted_; }

 private:
  struct Pair {
    int client = -1;
    int server = -1;
    bool frozen = false;
  };

  void serve();
  void accept_client();
  void forward(Pair& pair, short client_events, short server_events);
  static bool pass(int from, int to);

  std::uint16_t target_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::list<Pair> pairs_;
  bool frozen_ = false;
  std::atomic<std::size_t> accepted_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace walrelay::test
