#include "connector/observe/service_manager.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "connector/observe/log.h"

namespace walrelay {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// How long the manager waits for a sign of life; nothing if it waits for none, or for one of another process.
std::optional<std::chrono::microseconds> watchdog_timeout() {
  const auto microseconds = number<std::int64_t>(variable("WATCHDOG_USEC"));
  const auto pid = variable("WATCHDOG_PID");
  if (!microseconds || *microseconds <= 0 || (!pid.empty() && number<pid_t>(pid) != ::getpid())) return std::nullopt;
  return std::chrono::microseconds(*microseconds);
}

// A socket connected to `name`, a path, or with '@' for its zero byte the name of an abstract one; none, with errno.
FileDescriptor connect_to(std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof address.sun_path || (name.front() != '/' && name.front() != '@')) {
    errno = EINVAL;
    return {};
  }
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name.front() == '@') address.sun_path[0] = '\0';
  FileDescriptor made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) return {};
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) return made;
  const int why = errno;  // closing may change it
  made = {};
  errno = why;
  return {};
}

// The state, and the first reason why the relay is not ready.
std::string status_line(const RelayStatus& status) {
  const auto state = kRelayStateNames[static_cast<std::size_t>(status.state)];
  if (status.not_ready.empty()) return fmt::format("STATUS={}", state);
  const std::string& reason = status.not_ready.front();
  return fmt::format("STATUS={}: {}", state, reason.substr(0, reason.find('\n')));
}

}  // namespace

ServiceManager::ServiceManager(const StatusBoard& board) : board_(board) {
  const auto name = variable("NOTIFY_SOCKET");
  if (name.empty()) {
    due_ = Instant::max();
    return;
  }
  socket_ = connect_to(name);
  if (!socket_.valid()) {
    log_warning("service_manager", fmt::format("the service manager's socket {} cannot be used: {}", name,
                                               std::generic_category().message(errno)));
  }
  const auto timeout = watchdog_timeout();
  watchdog_ = timeout.has_value();
  if (timeout) interval_ = std::min(interval_, Duration(*timeout) / 4);
}

void ServiceManager::tell(Instant now) {
  due_ = now + interval_;
  std::string message;
  if (!std::exchange(ready_, true)) message += "READY=1\n";
  const auto snapshot = board_.snapshot();
  auto status = status_line(snapshot);
  if (status != told_) message += status + "\n";
  told_ = std::move(status);
  if (snapshot.state == RelayState::draining && !std::exchange(stopping_, true)) message += "STOPPING=1\n";
  if (watchdog_) message += "WATCHDOG=1\n";
  if (!message.empty()) send(message);
}

// A full socket loses the message: the next sign of life comes soon.
void ServiceManager::send(std::string_view message) const {
  if (socket_.valid()) static_cast<void>(::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL));
}

}  // namespace walrelay
