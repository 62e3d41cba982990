// What a service manager is told, by a socket that the test binds.

#include "connector/observe/service_manager.h"

#include "tests/support/catch.h"
#include "tests/support/notify_socket.h"
#include "tests/support/scoped_environment.h"
#include "tests/support/set_clock.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {
namespace {

struct NotifyFixture {
  TempDir directory;
  NotifySocket socket{directory.file("notify")};
  ScopedEnvironment name{"NOTIFY_SOCKET", socket.name()};
  SetClock clock;
  StatusBoard board{clock.wall()};

  // What the next turn, so much later, tells.
  std::string turn(ServiceManager& manager, Duration later = std::chrono::seconds(0)) {
    clock.advance(later);
    manager.turn(clock.now());
    return socket.receive();
  }
};

}  // namespace

TEST_CASE_METHOD(NotifyFixture, "the first turn of the loop is readiness, with the state and what is missing") {
  ServiceManager manager(board);
  CHECK(socket.receive().empty());
  CHECK(turn(manager) == "READY=1\nSTATUS=starting: starting: not connected to PostgreSQL yet\n");
}

TEST_CASE_METHOD(NotifyFixture, "after readiness only a change of the state is told, once, and not at each turn") {
  ServiceManager manager(board);
  static_cast<void>(turn(manager));
  CHECK(turn(manager, std::chrono::seconds(1)).empty());
  board.unblock(ReadySubject::server);
  board.set_state(RelayState::standby, clock.wall());
  CHECK(turn(manager, std::chrono::milliseconds(500)).empty());  // not due
  CHECK(turn(manager, std::chrono::milliseconds(500)) == "STATUS=standby\n");
  CHECK(turn(manager, std::chrono::seconds(1)).empty());
  board.block(ReadySubject::sink, "broker:9092 is down\nREADY=0");
  CHECK(turn(manager, std::chrono::seconds(1)) == "STATUS=standby: broker:9092 is down\n");
}

TEST_CASE_METHOD(NotifyFixture,
                 "a watchdog gets a sign of life four times as often as it asks for, at least each second") {
  const ScopedEnvironment microseconds("WATCHDOG_USEC", "2000000");
  const ScopedEnvironment pid("WATCHDOG_PID", std::to_string(::getpid()));
  ServiceManager manager(board);
  CHECK_THAT(turn(manager), ContainsSubstring("WATCHDOG=1\n"));
  CHECK(turn(manager, std::chrono::milliseconds(499)).empty());
  CHECK(turn(manager, std::chrono::milliseconds(1)) == "WATCHDOG=1\n");
  const ScopedEnvironment minutes("WATCHDOG_USEC", "120000000");
  ServiceManager patient(board);
  static_cast<void>(turn(patient));
  CHECK(turn(patient, std::chrono::seconds(1)) == "WATCHDOG=1\n");
}

TEST_CASE_METHOD(NotifyFixture, "a watchdog of another process, or one that is no number, gets no sign of life") {
  const ScopedEnvironment microseconds("WATCHDOG_USEC", "2000000");
  {
    const ScopedEnvironment pid("WATCHDOG_PID", "1");
    ServiceManager manager(board);
    CHECK_THAT(turn(manager), !ContainsSubstring("WATCHDOG"));
  }
  const ScopedEnvironment wrong("WATCHDOG_USEC", "2s");
  ServiceManager manager(board);
  CHECK_THAT(turn(manager), !ContainsSubstring("WATCHDOG"));
}

TEST_CASE_METHOD(NotifyFixture, "a drain and the end of the loop are told as stopping") {
  ServiceManager manager(board);
  static_cast<void>(turn(manager));
  board.set_state(RelayState::draining, clock.wall());
  CHECK_THAT(turn(manager, std::chrono::seconds(1)), ContainsSubstring("\nSTOPPING=1\n"));
  manager.stopping();
  CHECK(socket.receive() == "STOPPING=1");
}

TEST_CASE_METHOD(NotifyFixture, "a name that begins with @ is an abstract socket") {
  const NotifySocket abstract("@walrelay-test-" + std::to_string(::getpid()));
  const ScopedEnvironment at("NOTIFY_SOCKET", abstract.name());
  ServiceManager manager(board);
  manager.turn(clock.now());
  CHECK_THAT(abstract.receive(), Catch::Matchers::StartsWith("READY=1\n"));
  CHECK(socket.receive().empty());
}

TEST_CASE_METHOD(NotifyFixture,
                 "without a service manager, or with a name that cannot be one, nothing is told and nothing fails") {
  for (const auto& value : {std::string(), std::string("relative"), std::string("vsock:2:1234"), directory.file("none"),
                            std::string(200, '/')}) {
    CAPTURE(value);
    const ScopedEnvironment at("NOTIFY_SOCKET", value);
    ServiceManager manager(board);
    CHECK(turn(manager).empty());
    manager.stopping();
  }
}

TEST_CASE_METHOD(NotifyFixture, "a manager that reads nothing does not hold the loop up") {
  const ScopedEnvironment microseconds("WATCHDOG_USEC", "2000000");
  ServiceManager manager(board);
  for (int i = 0; i < 5000; ++i) {
    clock.advance(std::chrono::seconds(1));
    manager.turn(clock.now());
  }
  CHECK_THAT(socket.receive(), Catch::Matchers::StartsWith("READY=1\n"));
}

}  // namespace walrelay::test
