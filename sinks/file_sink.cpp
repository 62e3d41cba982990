#include "sinks/file_sink.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sinks/sink_error.h"

namespace walrelay {
namespace {

void watch(int poll, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  if (::epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) != 0) {
    throw SinkOpenError(fmt::format("cannot watch the output: {}", std::strerror(errno)));
  }
}

}  // namespace

FileSink::FileSink(LineFile file, SinkLimits limits, SinkLog log)
    : file_(std::move(file)),
      limits_(limits),
      log_(std::move(log)),
      wakeup_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      poll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!wakeup_.valid() || !poll_.valid()) {
    throw SinkOpenError(fmt::format("cannot watch {}: {}", file_.name(), std::strerror(errno)));
  }
  watch(poll_.get(), wakeup_.get(), EPOLLIN);
  if (!file_.never_waits()) watch(poll_.get(), file_.descriptor(), 0);
}

bool FileSink::has_room(std::size_t bytes) const {
  if (pending_.empty()) return true;  // one larger event is admitted alone
  return pending_.size() < limits_.in_flight_events_max && in_flight_bytes_ + bytes <= limits_.in_flight_bytes_max;
}

SubmitStatus FileSink::submit(const OutboxEvent& event, Tag tag) {
  const std::size_t bytes = size_of(event.key) + size_of(event.value);
  if (fatal_reason_ || !has_room(bytes)) return SubmitStatus::full;
  if (!std::exchange(claimed_, true)) {
    std::string note;
    if (auto error = file_.claim(note); !error.empty()) {
      set_fatal(std::move(error));
      return SubmitStatus::full;
    }
    if (!note.empty() && log_) log_(SinkLogLevel::warning, note);
  }
  writer_.append(buffer_, event);
  pending_.push_back({.tag = tag, .bytes = bytes, .line_end = buffer_start_ + buffer_.size()});
  in_flight_bytes_ += bytes;
  announce();
  return SubmitStatus::accepted;
}

std::span<const Delivery> FileSink::collect(std::size_t limit) {
  deliveries_.clear();
  write_out();
  while (deliveries_.size() < limit && !pending_.empty()) {
    const auto& [tag, bytes, line_end] = pending_.front();
    const bool is_durable = line_end <= durable_;
    if (!is_durable && !fatal_reason_) break;
    deliveries_.push_back({.tag = tag, .status = is_durable ? DeliveryStatus::persisted : DeliveryStatus::in_doubt});
    in_flight_bytes_ -= bytes;
    pending_.pop_front();
  }
  announce();
  return deliveries_;
}

void FileSink::write_out() {
  if (fatal_reason_ || written_ == buffer_.size()) return;
  std::size_t count = 0;
  if (auto error = file_.write(std::string_view(buffer_).substr(written_), count); !error.empty()) {
    return set_fatal(std::move(error));
  }
  written_ += count;
  if (auto error = file_.sync(); !error.empty()) return set_fatal(std::move(error));
  durable_ = buffer_start_ + written_;
  if (written_ < buffer_.size() / 2) return;  // moving the rest is not worth it yet
  buffer_.erase(0, written_);
  buffer_start_ += std::exchange(written_, 0);
}

void FileSink::set_fatal(std::string reason) { fatal_reason_ = std::move(reason); }

// Keeps the descriptor readable exactly while collect() has something to do.
void FileSink::announce() {
  const bool unwritten = !fatal_reason_ && written_ < buffer_.size();
  const bool deliverable = !pending_.empty() && (fatal_reason_ || pending_.front().line_end <= durable_);
  if (const bool wake = deliverable || (unwritten && file_.never_waits()); wake != woken_) {
    std::uint64_t count = 1;
    // Neither can fail: the counter is 0 or 1, and woken_ says which.
    [[maybe_unused]] const auto done =
        wake ? ::write(wakeup_.get(), &count, sizeof count) : ::read(wakeup_.get(), &count, sizeof count);
    woken_ = wake;
  }
  if (const bool wait = unwritten && !file_.never_waits(); wait != waits_for_reader_) {
    epoll_event event{};
    event.events = wait ? static_cast<std::uint32_t>(EPOLLOUT) : 0U;
    ::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, file_.descriptor(), &event);
    waits_for_reader_ = wait;
  }
}

Sink::Health FileSink::health() const {
  return fatal_reason_ ? Health{.reachable = false, .why = *fatal_reason_} : Health{};
}

}  // namespace walrelay
