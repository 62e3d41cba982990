#pragma once
// A network path to a server that can go dead without a word: no FIN, no RST, nothing forwarded.

#include <poll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

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
  // What one side sent and the other has not taken yet: no more is read meanwhile, so that a reader that does not read
  // holds its own sender up and nobody else.
  struct Flow {
    std::array<char, 65536> bytes;
    std::size_t begin = 0;
    std::size_t end = 0;

    [[nodiscard]] bool empty() const { return begin == end; }
    [[nodiscard]] bool pass(int from, int to);
  };
  struct Pair {
    int client = -1;
    int server = -1;
    bool frozen = false;
    Flow to_server;
    Flow to_client;
  };

  void serve();
  std::vector<pollfd> wanted();
  void accept_client();
  void forward(std::span<const pollfd> ready);

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
