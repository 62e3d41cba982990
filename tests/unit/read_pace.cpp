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

TEST_CASE("a steady stream wakes with its rows, and a quiet one with each byte") {
  ReadPace pace;
  Instant now{std::chrono::hours(1)};
  CHECK(pace.wake_bytes() == 1);
  CHECK_FALSE(pace.deadline());
  const auto transactions = [&](int count, Duration apart) {
    for (int i = 0; i < count; ++i) pace.busy_after(3, now += apart);
  };
  transactions(100, std::chrono::milliseconds(50));
  CHECK(pace.wake_bytes() == 1);
  transactions(100, std::chrono::milliseconds(10));
  CHECK(pace.wake_bytes() == ReadPace::kWakeBytes);
  REQUIRE(pace.deadline());

  // Nothing more comes: what may lie there unread is looked at soon.
  now = *pace.deadline();
  pace.busy_after(0, now);
  now = pace.deadline().value_or(now);
  pace.busy_after(0, now);
  CHECK(pace.wake_bytes() == 1);
  CHECK_FALSE(pace.deadline());
}

TEST_CASE("what comes between two rows is less than what wakes, and the smallest transaction with an event is not") {
  constexpr int kFrame = 5 + 25;  // CopyData and XLogData
  constexpr int kBegin = kFrame + 21;
  constexpr int kCommit = kFrame + 26;
  constexpr int kKeepalive = 5 + 18;
  CHECK(kCommit + 2 * kKeepalive + kBegin < ReadPace::kWakeBytes);
  constexpr int kColumns = 3 * (5 + 1);  // an id, a type and a payload of one character each
  CHECK(kBegin + kFrame + 8 + kColumns + kCommit >= ReadPace::kWakeBytes);
}

}  // namespace walrelay::test
