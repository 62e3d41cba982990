#include "connector/publish/row_meter.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "connector/observe/log.h"
#include "connector/write_all.h"

namespace walrelay {
namespace {

constexpr std::chrono::milliseconds kLines{2'000};
constexpr std::chrono::milliseconds kRedraws{250};
constexpr std::uint64_t kBarCells = 20;
constexpr std::size_t kColumnsUnknown = 80;

bool is_terminal(int descriptor) {
  const char* const term = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

std::size_t columns_of(int descriptor) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kColumnsUnknown;
}

// One line of what fits; a line that wraps could not be drawn over.
std::string fitted(std::string text, std::size_t columns) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, ' ');
  if (text.size() < columns) return text;
  auto end = columns - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

std::string print_time(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

std::uint64_t share(std::uint64_t done, std::uint64_t total, std::uint64_t of) {
  return total == 0 ? of : std::min(done, total) * of / total;
}

}  // namespace

RowMeter::RowMeter(std::string what, Instant now, int descriptor, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      descriptor_(descriptor),
      terminal_(is_terminal(descriptor)),
      begin_(now),
      next_(now + kRedraws) {}

RowMeter::~RowMeter() { end_bar(); }

void RowMeter::expect(std::uint64_t total, Instant now) {
  expecting_ = true;
  total_ = total;
  begin_ = now;
  print(0, "", now);
}

void RowMeter::show(std::uint64_t done, std::string_view waiting, Instant now) {
  if (now < next_) return;
  if (expecting_) return print(done, waiting, now);
  next_ = now + kRedraws;
  if (terminal_)
    draw(fmt::format("{}: counting the {}, {}", what_, unit_,
                     print_time(std::chrono::duration<double>(now - begin_).count())));
}

void RowMeter::finish(std::uint64_t done, Instant now) {
  print(done, "", now);
  end_bar();
}

std::string RowMeter::line(std::uint64_t done, Instant now) const {
  return fmt::format("{}: {} of {} {} ({} %){}", what_, done, total_, unit_, share(done, total_, 100), pace(done, now));
}

std::string RowMeter::bar(std::uint64_t done, Instant now) const {
  const auto full = share(done, total_, kBarCells);
  return fmt::format("{} [{:#<{}}{:-<{}}] {:3} %  {} of {} {}{}", what_, "", full, "", kBarCells - full,
                     share(done, total_, 100), done, total_, unit_, pace(done, now));
}

std::string RowMeter::pace(std::uint64_t done, Instant now) const {
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  if (done == 0 || seconds <= 0) return {};
  const double rate = static_cast<double>(done) / seconds;
  if (done >= total_) return fmt::format(", {:.0f} {}/s", rate, unit_);
  return fmt::format(", {:.0f} {}/s, {} left", rate, unit_, print_time(static_cast<double>(total_ - done) / rate));
}

void RowMeter::print(std::uint64_t done, std::string_view waiting, Instant now) {
  next_ = now + (terminal_ ? kRedraws : kLines);
  if (total_ == 0) return;
  auto text = terminal_ ? bar(done, now) : line(done, now);
  if (!waiting.empty()) text += fmt::format(" (waiting: {})", waiting);
  if (terminal_) return draw(std::move(text));
  write_all(descriptor_, text + "\n");
}

void RowMeter::draw(std::string text) {
  drawn_ = true;
  log_over_bar(true);
  write_all(descriptor_, "\r" + fitted(std::move(text), columns_of(descriptor_)) + "\033[K");
}

void RowMeter::end_bar() {
  if (!std::exchange(drawn_, false)) return;
  log_over_bar(false);
  write_all(descriptor_, "\n");
}

}  // namespace walrelay
