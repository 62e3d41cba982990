// What is shown while rows are published.

#include "connector/publish/row_meter.h"

#include <algorithm>

#include "tests/support/catch.h"
#include "tests/support/caught_log.h"
#include "tests/support/pty.h"
#include "tests/support/scoped_environment.h"

namespace walrelay::test {

using namespace std::chrono_literals;

namespace {

constexpr Instant kBegin{std::chrono::hours(1)};

}  // namespace

TEST_CASE("the meter tells rows, percent, rate and the time that is left") {
  RowMeter meter("backfill", kBegin, -1);
  meter.expect(5000, kBegin);
  CHECK(meter.line(0, kBegin + 3s) == "backfill: 0 of 5000 rows (0 %)");
  CHECK(meter.line(1000, kBegin + 2s) == "backfill: 1000 of 5000 rows (20 %), 500 rows/s, 8 s left");
  CHECK(meter.line(1000, kBegin + 100s) == "backfill: 1000 of 5000 rows (20 %), 10 rows/s, 6 min 40 s left");
  CHECK(meter.line(100, kBegin + 100s) == "backfill: 100 of 5000 rows (2 %), 1 rows/s, 1 h 21 min left");
  CHECK(meter.line(5000, kBegin + 10s) == "backfill: 5000 of 5000 rows (100 %), 500 rows/s");
  CHECK(meter.bar(1999, kBegin + 4s) ==
        "backfill [#######-------------]  39 %  1999 of 5000 rows, 500 rows/s, 6 s left");
  CHECK(meter.bar(5000, kBegin + 10s) == "backfill [####################] 100 %  5000 of 5000 rows, 500 rows/s");
  CHECK(meter.bar(5001, kBegin + 10s) == "backfill [####################] 100 %  5001 of 5000 rows, 500 rows/s");
}

TEST_CASE("of nothing to publish no progress is shown") {
  const auto file = ::memfd_create("meter", MFD_CLOEXEC);
  RowMeter meter("replay", kBegin, file);
  meter.expect(0, kBegin);
  meter.finish(0, kBegin + 1s);
  CHECK(::lseek(file, 0, SEEK_END) == 0);
  ::close(file);
}

TEST_CASE("a terminal gets one line, redrawn some times a second, that never wraps") {
  const ScopedEnvironment term("TERM", "xterm");
  Pty pty;
  {
    RowMeter meter("replay", kBegin, pty.descriptor());
    meter.expect(1000, kBegin);
    for (int i = 1; i <= 1000; ++i) meter.show(static_cast<std::uint64_t>(i), "", kBegin + i * 1ms);
    meter.finish(1000, kBegin + 1s);
    const auto screen = pty.read_some();
    CHECK(std::count(screen.begin(), screen.end(), '\r') <= 7);  // with that of the line break
    CHECK(std::count(screen.begin(), screen.end(), '\n') == 1);
    CHECK_THAT(screen, ContainsSubstring("\rreplay [##########----------]  50 %  500 of 1000 rows, 1000 rows/s"));
    CHECK_THAT(screen, ContainsSubstring("100 %  1000 of 1000 rows, 1000 rows/s\033[K\r\n"));
    meter.show(7, std::string(100, 'x') + "\nsecond line", kBegin + 1min);
    CHECK(pty.read_some().size() == 1 + 79 + 3);
  }
  CHECK(pty.read_some() == "\r\n");
}

TEST_CASE("a terminal is told that rows are counted before they can be expected") {
  const ScopedEnvironment term("TERM", "xterm");
  Pty pty;
  RowMeter meter("backfill", kBegin, pty.descriptor());
  meter.show(0, "", kBegin + 100ms);
  CHECK(pty.read_some().empty());
  meter.show(0, "", kBegin + 75s);
  CHECK(pty.read_some() == "\rbackfill: counting the rows, 1 min 15 s\033[K");
}

TEST_CASE("a log line takes the place of the bar, which is drawn again below it") {
  const ScopedEnvironment term("TERM", "xterm");
  CaughtLog log(LogOptions{});
  Pty pty;
  RowMeter meter("replay", kBegin, pty.descriptor());
  meter.expect(10, kBegin);
  log_warning("event_skipped", "one");
  CHECK(log.read_some().starts_with("\r\033[K2"));
  meter.finish(10, kBegin + 1s);
  log_warning("event_skipped", "two");
  CHECK(log.read_some().starts_with("2"));
}

TEST_CASE("what is no terminal gets a line now and then, and no control characters") {
  int ends[2] = {-1, -1};
  REQUIRE(::pipe(ends) == 0);
  const FileDescriptor reader(ends[0]);
  const FileDescriptor writer(ends[1]);
  RowMeter meter("replay", kBegin, writer.get());
  meter.show(0, "", kBegin + 1min);  // counting is nothing to log
  meter.expect(1000, kBegin);
  for (int i = 1; i <= 1000; ++i) meter.show(static_cast<std::uint64_t>(i), "", kBegin + i * 5ms);
  meter.finish(1000, kBegin + 5s);
  std::array<char, 4096> buffer{};
  const auto got = ::read(reader.get(), buffer.data(), buffer.size());
  REQUIRE(got > 0);
  CHECK(std::string(buffer.data(), static_cast<std::size_t>(got)) ==
        "replay: 0 of 1000 rows (0 %)\n"
        "replay: 400 of 1000 rows (40 %), 200 rows/s, 3 s left\n"
        "replay: 800 of 1000 rows (80 %), 200 rows/s, 1 s left\n"
        "replay: 1000 of 1000 rows (100 %), 200 rows/s\n");
}

}  // namespace walrelay::test
