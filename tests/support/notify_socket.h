#pragma once
// The socket of a service manager, played by the test.

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>

namespace walrelay::test {

class NotifySocket {
 public:
  // `name` as NOTIFY_SOCKET has it: a path, or '@' and the name of an abstract socket.
  explicit NotifySocket(std::string name) : name_(std::move(name)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name_.data(), name_.size());
    if (name_.front() == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    if (descriptor_ < 0 || ::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), size) != 0) {
      throw std::runtime_error(fmt::format("cannot bind {}", name_));
    }
  }
  ~NotifySocket() { ::close(descriptor_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  // The next message; "" if none comes in time.
  [[nodiscard]] std::string receive(std::chrono::milliseconds at_most = std::chrono::milliseconds(0)) const {
    pollfd waiting{descriptor_, POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(at_most.count())) <= 0) return "";
    std::array<char, 4096> buffer{};
    const auto size = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
    return size <= 0 ? "" : std::string(buffer.data(), static_cast<std::size_t>(size));
  }

 private:
  std::string name_;
  int descriptor_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

}  // namespace walrelay::test
