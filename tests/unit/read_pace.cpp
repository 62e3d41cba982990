// Claims of connector/read_pace.h.
#include "connector/read_pace.h"

#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

using std::chrono::microseconds;

// `frames` at a time, every `apart`, for 20 ms: how often it called the stream busy.
int busy_steps(ReadPace& pace, Instant& now, std::size_t frames, Duration apart) {
  int busy = 0;
  for (const Instant end = now + std::chrono::milliseconds(20); now < end; now += apart) {
    if (pace.busy_after(frames, now)) ++busy;
  }
  return busy;
}

}  // namespace

TEST_CASE("a stream of a thousand small transactions a second is read at once") {
  ReadPace pace;
  Instant now{std::chrono::hours(1)};
  CHECK(busy_steps(pace, now, 3, microseconds(1000)) == 0);
  CHECK(busy_steps(pace, now, 1, microseconds(333)) == 0);
}

TEST_CASE("a stream is busy whether its frames come one by one or in heaps") {
  ReadPace pace;
  Instant now{std::chrono::hours(1)};
  CHECK(busy_steps(pace, now, 1, microseconds(10)) > 1800);
  CHECK(busy_steps(pace, now, 100, microseconds(1300)) >= 14);
}

TEST_CASE("a stream that went quiet is read at once again") {
  ReadPace pace;
  Instant now{std::chrono::hours(1)};
  CHECK(busy_steps(pace, now, 1, microseconds(10)) > 0);
  now += std::chrono::seconds(1);
  CHECK_FALSE(pace.busy_after(3, now));
  CHECK_FALSE(pace.busy_after(3, now + microseconds(400)));
}

TEST_CASE("the first rows after a quiet time are read at once, however many they are") {
  ReadPace pace;
  CHECK_FALSE(pace.busy_after(500, Instant{std::chrono::hours(1)}));
}

TEST_CASE("the pause of a busy stream is a tenth of its backlog, within bounds") {
  using std::chrono::milliseconds;
  for (const auto transport : {Transport::network, Transport::loopback}) {
    CHECK(ReadPace::pause(transport, milliseconds(50)) == milliseconds(5));
    CHECK(ReadPace::pause(transport, std::chrono::hours(5)) == ReadPace::kPauseMax);
    CHECK(ReadPace::pause(transport, milliseconds(1)) == ReadPace::kPauseMin);
    CHECK(ReadPace::pause(transport, milliseconds(-20)) == ReadPace::kPauseMin);  // a clock that was set back
  }
}

TEST_CASE("a Unix socket, which fills soon, is never left alone for longer than the shortest pause") {
  CHECK(ReadPace::pause(Transport::unix_socket, std::chrono::hours(5)) == ReadPace::kPauseMin);
}

}  // namespace walrelay::test
