#include "decoder/event_time.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "decoder/characters.h"

namespace walrelay {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kPgEpochMs = 946'684'800'000;  // 2000-01-01 since 1970-01-01
constexpr int kYearMax = 294'276;  // PostgreSQL's last one for a timestamp; keeps the sums below in range

// Reads a text from left to right; the first mismatch makes all that follows fail.
class TimeCursor {
 public:
  explicit TimeCursor(std::string_view text) : text_(text) {}

  std::int64_t number(std::size_t digits_min, std::size_t digits_max, std::int64_t low, std::int64_t high) {
    std::size_t count = 0;
    std::int64_t value = 0;
    while (count < digits_max && count < text_.size() && is_digit(text_[count]))
      value = value * 10 + (text_[count++] - '0');
    ok_ = ok_ && count >= digits_min && value >= low && value <= high;
    text_.remove_prefix(count);
    return value;
  }
  void expect(char c) { ok_ = accept(c) && ok_; }
  bool accept(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  // Milliseconds of ".123456"; as many digits as there are.
  std::int64_t fraction() {
    if (!accept('.')) return 0;
    std::int64_t ms = 0;
    std::int64_t weight = 100;
    ok_ = ok_ && !text_.empty() && is_digit(text_.front());
    for (; !text_.empty() && is_digit(text_.front()); text_.remove_prefix(1), weight /= 10)
      ms += (text_.front() - '0') * weight;
    return ms;
  }
  [[nodiscard]] bool finished() const { return ok_ && text_.empty(); }
  [[nodiscard]] bool at_end() const { return text_.empty(); }

 private:
  std::string_view text_;
  bool ok_ = true;
};

// std::chrono ends at year 32767; the calendar repeats itself every 400 years.
std::optional<std::int64_t> days_since_1970(std::int64_t year, std::int64_t month, std::int64_t day) {
  constexpr std::int64_t kCycleDays = 146'097;
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(2000 + year % 400)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return days + (year - (2000 + year % 400)) / 400 * kCycleDays;
}

// "+02", "-03:30", "+05:30:15", "Z" or nothing, which is UTC.
std::int64_t parse_offset_seconds(TimeCursor& cursor) {
  if (cursor.at_end() || cursor.accept('Z')) return 0;
  const std::int64_t sign = cursor.accept('-') ? -1 : 1;
  if (sign == 1) cursor.expect('+');
  std::int64_t seconds = cursor.number(2, 2, 0, 15) * 3600;
  if (cursor.accept(':')) seconds += cursor.number(2, 2, 0, 59) * 60;
  if (cursor.accept(':')) seconds += cursor.number(2, 2, 0, 59);
  return sign * seconds;
}

std::int64_t parse_time_of_day_ms(TimeCursor& cursor) {
  const auto hour = cursor.number(2, 2, 0, 24);
  cursor.expect(':');
  const auto minute = cursor.number(2, 2, 0, 59);
  cursor.expect(':');
  const auto second = cursor.number(2, 2, 0, 60);
  return ((hour * 60 + minute) * 60 + second) * 1000 + cursor.fraction();
}

std::optional<std::int64_t> parse_calendar_ms(std::string_view text) {
  TimeCursor cursor(text);
  const auto year = cursor.number(4, 6, 1, kYearMax);
  cursor.expect('-');
  const auto month = cursor.number(2, 2, 1, 12);
  cursor.expect('-');
  const auto day = cursor.number(2, 2, 1, 31);
  std::int64_t ms = 0;
  if (cursor.accept(' ') || cursor.accept('T')) {
    ms = parse_time_of_day_ms(cursor);
    ms -= parse_offset_seconds(cursor) * 1000;
  }
  if (!cursor.finished()) return std::nullopt;  // also " BC"
  const auto days = days_since_1970(year, month, day);
  if (!days) return std::nullopt;
  return *days * kDayMs + ms;
}

std::optional<std::int64_t> parse_epoch_ms(std::string_view text) {
  std::int64_t ms = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, ms);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return ms;
}

// Appends the number with leading zeros; it has no more digits than that.
void append_digits(std::string& out, std::int64_t number, std::size_t digits) {
  out.append(digits, '0');
  for (auto place = out.rbegin(); number > 0; number /= 10) *place++ = static_cast<char>('0' + number % 10);
}

}  // namespace

std::optional<std::int64_t> parse_event_time(std::string_view text) {
  const bool digits_only = !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  const auto ms = digits_only ? parse_epoch_ms(text) : parse_calendar_ms(text);
  if (!ms || *ms <= 0) return std::nullopt;
  return ms;
}

bool append_event_time(std::int64_t ms, std::string& out) {
  constexpr std::int64_t kYear10000Ms = 253'402'300'800'000;
  if (ms >= kYear10000Ms) return false;
  const auto since_1970 = std::chrono::milliseconds(ms);
  const auto days = std::chrono::floor<std::chrono::days>(since_1970);
  const std::chrono::year_month_day date{std::chrono::sys_days(days)};
  const std::chrono::hh_mm_ss time(since_1970 - days);
  append_digits(out, static_cast<int>(date.year()), 4);
  append_digits(out += '-', static_cast<unsigned>(date.month()), 2);
  append_digits(out += '-', static_cast<unsigned>(date.day()), 2);
  append_digits(out += 'T', time.hours().count(), 2);
  append_digits(out += ':', time.minutes().count(), 2);
  append_digits(out += ':', time.seconds().count(), 2);
  append_digits(out += '.', time.subseconds().count(), 3);
  out += 'Z';
  return true;
}

std::int64_t commit_time_ms(std::int64_t commit_time) {
  std::int64_t ms = commit_time / 1000;
  if (commit_time % 1000 < 0) --ms;
  return std::max<std::int64_t>(ms + kPgEpochMs, 1);
}

}  // namespace walrelay
