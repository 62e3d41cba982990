#include "connector/publish/row_meter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace walrelay {
namespace {

constexpr std::chrono::milliseconds kLines{2'000};
constexpr std::chrono::milliseconds kRedraws{200};

}  // namespace

RowMeter::RowMeter(std::string what, Instant now)
    : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) == 1), begin_(now), next_(now) {}

void RowMeter::expect(std::uint64_t total, Instant now) {
  expecting_ = true;
  total_ = total;
  begin_ = now;
  print(0, "", now);
}

void RowMeter::show(std::uint64_t done, std::string_view waiting, Instant now) {
  if (expecting_ && now >= next_) print(done, waiting, now);
}

void RowMeter::finish(std::uint64_t done, Instant now) {
  print(done, "", now);
  if (terminal_) std::fputc('\n', stderr);
}

std::string RowMeter::line(std::uint64_t done, Instant now) const {
  auto text = fmt::format("{}: {} of {} rows", what_, done, total_);
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  if (done == 0 || seconds <= 0) return text;
  const double rate = static_cast<double>(done) / seconds;
  text += fmt::format(", {:.0f} rows/s", rate);
  if (done < total_) text += fmt::format(", about {:.0f} s left", static_cast<double>(total_ - done) / rate);
  return text;
}

void RowMeter::print(std::uint64_t done, std::string_view waiting, Instant now) {
  next_ = now + (terminal_ ? kRedraws : kLines);
  auto text = line(done, now);
  if (!waiting.empty()) text += fmt::format(" (waiting: {})", waiting);
  fmt::print(stderr, "{}{}{}", terminal_ ? "\r" : "", text, terminal_ ? "\033[K" : "\n");
}

}  // namespace walrelay
