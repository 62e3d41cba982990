#include "connector/event_poll.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>
#include <thread>

#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct SocketPair {
  SocketPair() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0); }
  ~SocketPair() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;
  void send_byte() const { REQUIRE(::write(ends[1], "x", 1) == 1); }
  int ends[2] = {-1, -1};
};

}  // namespace

TEST_CASE("wait says which descriptor is ready") {
  const SocketPair quiet;
  const SocketPair busy;
  busy.send_byte();
  EventPoll poll;
  const auto first = poll.add(quiet.ends[0]);
  const auto second = poll.add(busy.ends[0]);
  REQUIRE(poll.wait(seconds(10)));
  CHECK_FALSE(poll.ready(first));
  CHECK(poll.readable(second));
  CHECK_FALSE(poll.writable(second));
}

TEST_CASE("wait returns at its deadline, a past one at once") {
  const SocketPair quiet;
  EventPoll poll;
  const auto entry = poll.add(quiet.ends[0]);
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(poll.wait(milliseconds(20)));
  CHECK_FALSE(poll.ready(entry));
  CHECK(std::chrono::steady_clock::now() - start >= milliseconds(20));
  CHECK_FALSE(poll.wait(milliseconds(-5)));
}

TEST_CASE("writing is waited for only when asked for") {
  const SocketPair pair;
  EventPoll poll;
  const auto entry = poll.add(pair.ends[0], true);
  REQUIRE(poll.wait(seconds(10)));
  CHECK(poll.writable(entry));
  CHECK_FALSE(poll.readable(entry));
}

TEST_CASE("a paused descriptor does not wake for what it could read") {
  const SocketPair pair;
  pair.send_byte();
  EventPoll poll;
  const auto entry = poll.add_write_only(pair.ends[0], false);
  CHECK_FALSE(poll.wait(milliseconds(0)));
  CHECK_FALSE(poll.ready(entry));
}

TEST_CASE("a peer that is gone counts as readable") {
  const SocketPair pair;
  ::shutdown(pair.ends[1], SHUT_RDWR);
  EventPoll poll;
  const auto entry = poll.add(pair.ends[0]);
  REQUIRE(poll.wait(seconds(10)));
  CHECK(poll.readable(entry));
}

TEST_CASE("a missing descriptor is never ready") {
  EventPoll poll;
  const auto entry = poll.add(-1, true);
  CHECK_FALSE(poll.wait(milliseconds(0)));
  CHECK_FALSE(poll.ready(entry));
}

TEST_CASE("the set is filled anew after clear") {
  const SocketPair pair;
  pair.send_byte();
  EventPoll poll;
  for (std::size_t i = 0; i < 3 * EventPoll::kEntriesMax; ++i) {
    poll.clear();
    const auto entry = poll.add(pair.ends[0]);
    REQUIRE(poll.wait(seconds(10)));
    CHECK(poll.readable(entry));
  }
}

TEST_CASE("SIGTERM and SIGINT arrive as readable descriptor, each time they are sent") {
  SignalFd signals;
  CHECK_FALSE(signals.take());
  for (const int number : {SIGTERM, SIGINT, SIGTERM}) {
    ::kill(::getpid(), number);
    EventPoll poll;
    const auto entry = poll.add(signals.descriptor());
    REQUIRE(poll.wait(seconds(10)));
    CHECK(poll.readable(entry));
    CHECK(signals.take() == number);
    CHECK_FALSE(signals.take());
  }
}

TEST_CASE("a thread started later does not take the signal") {
  SignalFd signals;
  std::thread thread([] { ::raise(SIGTERM); });  // to that thread: pending there, not deadly
  thread.join();
  ::kill(::getpid(), SIGTERM);
  CHECK(signals.take() == SIGTERM);
}

TEST_CASE("a write to a closed pipe is an error, not the end of the process") {
  const SignalFd signals;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  CHECK(::write(ends[1], "x", 1) == -1);
  CHECK(errno == EPIPE);
  ::close(ends[1]);
}

}  // namespace walrelay::test
