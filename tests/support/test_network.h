#pragma once
// Hosts of a test's own, each in a network namespace, and the cables to them, which can be cut.

#include <functional>
#include <string>

namespace walrelay::test {

// A network namespace, for the thread that holds it and for the threads and processes that it starts meanwhile; nothing
// else is in it. The kernel removes it, with its interfaces, when the last of them is gone, however that happens.
class NetworkNamespace {
 public:
  NetworkNamespace();   // new; the thread moves into it. Errors: std::runtime_error; making one needs root
  ~NetworkNamespace();  // back to where the thread was
  NetworkNamespace(const NetworkNamespace&) = delete;
  NetworkNamespace& operator=(const NetworkNamespace&) = delete;

  void enter() const;
  void leave() const;
  [[nodiscard]] std::string path() const;  // for ip(8)

 private:
  int before_;
  int own_ = -1;
};

// A host that is reached over a cable from the namespace that the thread is in when it is made.
class FarHost {
 public:
  explicit FarHost(int number);  // 1 to 254, one of each

  [[nodiscard]] std::string address() const;
  // Runs `work` on that host: what it starts stays there.
  void run(const std::function<void()>& work) const;

  // Here the interface is gone: whoever sends learns it at once.
  void unplug_here() const;
  // There it is gone: packets are lost without a word.
  void unplug_there() const;
  void plug_in() const;

 private:
  int number_;
  NetworkNamespace namespace_;
};

}  // namespace walrelay::test
