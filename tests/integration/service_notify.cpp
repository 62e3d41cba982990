// `walrelay run` as a service manager sees it.

#include "tests/support/catch.h"
#include "tests/support/notify_socket.h"
#include "tests/support/outbox_case.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

// Messages until one has `part`; the last is not it if that did not come.
std::string until(const NotifySocket& socket, const std::string& part) {
  std::string all;
  static_cast<void>(wait_until(seconds(30), [&] {
    all += socket.receive(milliseconds(1000));
    return all.find(part) != std::string::npos;
  }));
  return all;
}

}  // namespace

TEST_CASE("a service manager sees the relay ready, streaming, alive and stopping") {
  OutboxCase outbox;
  outbox.exec("CREATE TABLE outbox (n integer)");
  outbox.add_outbox("table = \"public.outbox\"\ntopic = \"t\"\nvalue = \"{n}\"");
  outbox.set_sink("[sink]\ntype = \"stdout\"");
  outbox.init();
  const TempDir directory;
  const NotifySocket socket(directory.file("notify"));
  RelayProcess relay(outbox.configuration(), {},
                     {.environment = {{"NOTIFY_SOCKET", socket.name()}, {"WATCHDOG_USEC", "1000000"}}});
  const auto begin = until(socket, "READY=1");
  INFO(relay.log());
  CHECK_THAT(begin, Catch::Matchers::StartsWith("READY=1\n"));
  CHECK(relay.get("/healthz").status == 200);  // ready means that it serves
  CHECK_THAT(until(socket, "STATUS=streaming\n"), ContainsSubstring("STATUS=streaming\n"));
  CHECK_THAT(until(socket, "WATCHDOG=1"), ContainsSubstring("WATCHDOG=1"));
  CHECK(relay.stop() == ExitStatus{143, 0});
  CHECK_THAT(until(socket, "STOPPING=1"), ContainsSubstring("STOPPING=1"));
}

TEST_CASE("a relay whose server is away is ready for its service manager, and says what it waits for") {
  const TempDir directory;
  const NotifySocket socket(directory.file("notify"));
  RelayProcess relay(
      "[postgres]\ndsn = \"host=127.0.0.1 port=1 dbname=shop user=walrelay\"\n"
      "[[outbox]]\ntable = \"public.outbox\"\ntopic = \"t\"\nvalue = \"{n}\"\n[sink]\ntype = \"stdout\"",
      {}, {.environment = {{"NOTIFY_SOCKET", socket.name()}}});
  CHECK_THAT(until(socket, "READY=1"), Catch::Matchers::StartsWith("READY=1\n"));
  INFO(relay.log());
  CHECK_THAT(until(socket, "STATUS=connecting: "), ContainsSubstring("STATUS=connecting: "));
  CHECK(relay.process().running());
}

}  // namespace walrelay::test
