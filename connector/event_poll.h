#pragma once
// What the loop sleeps on: a handful of descriptors and a deadline, by ppoll(2), whose time-out is finer than a
// millisecond; and signals as one more descriptor. Thread: the loop thread.

#include <poll.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <optional>

#include "connector/clock.h"

namespace walrelay {

// Filled anew before each wait: the interest in writing changes, and sockets come and go.
//
//   poll.clear();
//   const auto socket = poll.add(source.descriptor(), source.wants_write());
//   poll.wait(deadline - clock.now());
//   if (poll.ready(socket)) ...
class EventPoll {
 public:
  using Entry = std::size_t;
  static constexpr std::size_t kEntriesMax = 8;

  void clear() { count_ = 0; }

  // Waits for `descriptor` to become readable, and writable if `write`. A negative descriptor is never ready. The
  // descriptor stays the caller's. At most kEntriesMax.
  Entry add(int descriptor, bool write = false) { return add_events(descriptor, write ? POLLIN | POLLOUT : POLLIN); }
  // For a paused socket: only a full output buffer is waited for. Without it, an error of the socket is reported all
  // the same.
  Entry add_write_only(int descriptor, bool write) { return add_events(descriptor, write ? POLLOUT : 0); }

  // Returns once a descriptor is ready, `at_most` is over (a negative one is taken as zero) or a signal handler ran.
  // False: nothing is ready. Throws std::system_error if the kernel refuses, which is a fault of the caller.
  bool wait(Duration at_most);

  // Of the last wait(). An error or hang-up counts as both, so that the read or write that follows reports it.
  [[nodiscard]] bool readable(Entry entry) const { return has(entry, POLLIN | kFailed); }
  [[nodiscard]] bool writable(Entry entry) const { return has(entry, POLLOUT | kFailed); }
  [[nodiscard]] bool ready(Entry entry) const { return readable(entry) || writable(entry); }

 private:
  static constexpr int kFailed = POLLERR | POLLHUP | POLLNVAL;

  Entry add_events(int descriptor, int events);
  [[nodiscard]] bool has(Entry entry, int events) const { return (polled_.at(entry).revents & events) != 0; }

  std::array<pollfd, kEntriesMax> polled_{};
  std::size_t count_ = 0;
};

// SIGTERM and SIGINT as a descriptor, SIGPIPE ignored, for as long as it lives; one per process. To be made before any
// thread is started (librdkafka's and the HTTP server's included): threads inherit the mask, and a thread without it
// would take the signal.
class SignalFd {
 public:
  SignalFd();  // throws std::system_error
  ~SignalFd();
  SignalFd(const SignalFd&) = delete;
  SignalFd& operator=(const SignalFd&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  // The next signal that came in, if any. Does not block.
  [[nodiscard]] std::optional<int> take();

 private:
  sigset_t old_mask_{};
  struct sigaction old_pipe_action_{};
  int descriptor_ = -1;
};

}  // namespace walrelay
