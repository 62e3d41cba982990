#include "connector/event_poll.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace walrelay {
namespace {

[[noreturn]] void throw_errno(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

timespec to_timespec(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(duration - seconds).count()};
}

}  // namespace

EventPoll::Entry EventPoll::add_events(int descriptor, int events) {
  polled_.at(count_) = {.fd = descriptor, .events = static_cast<short>(events), .revents = 0};
  return count_++;
}

bool EventPoll::wait(Duration at_most) {
  const auto timeout = to_timespec(std::max(at_most, Duration::zero()));
  const int ready = ::ppoll(polled_.data(), count_, &timeout, nullptr);
  if (ready >= 0) return ready > 0;
  if (errno != EINTR) throw_errno("ppoll");
  for (auto& entry : polled_) entry.revents = 0;
  return false;
}

SignalFd::SignalFd() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  descriptor_ = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor_ < 0) throw_errno("signalfd");
  ::pthread_sigmask(SIG_BLOCK, &signals, &old_mask_);
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &old_pipe_action_);
}

SignalFd::~SignalFd() {
  ::sigaction(SIGPIPE, &old_pipe_action_, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
  ::close(descriptor_);
}

std::optional<int> SignalFd::take() {
  signalfd_siginfo info{};
  const auto got = ::read(descriptor_, &info, sizeof info);
  if (got == static_cast<ssize_t>(sizeof info)) return static_cast<int>(info.ssi_signo);
  if (got < 0 && errno != EAGAIN && errno != EINTR) throw_errno("read of the signal descriptor");
  return std::nullopt;
}

}  // namespace walrelay
