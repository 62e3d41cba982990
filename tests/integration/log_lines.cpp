// What a run says on stderr.

#include <cstdlib>
#include <sstream>

#include "tests/support/catch.h"
#include "tests/support/json_value.h"
#include "tests/support/outbox_case.h"

namespace walrelay::test {
namespace {

TEST_CASE("a run's log is JSON lines, a few for thousands of events, and accounts for all that were skipped") {
  OutboxCase outbox;
  outbox.exec("CREATE TABLE outbox (id bigint PRIMARY KEY, topic text)");
  outbox.add_outbox("table = \"public.outbox\"\nid = \"{id}\"\ntopic = \"{topic}\"\nvalue = \"{id}\"");
  outbox.add_settings("[delivery]\non_error = \"skip\"\n[log]\nformat = \"json\"");
  outbox.init();
  const auto topic = outbox.name() + ".good";
  outbox.exec("INSERT INTO outbox SELECT n, CASE WHEN n % 2 = 0 THEN '" + topic +
              "' END FROM generate_series(1, 4000) n");
  const auto run = outbox.run("run", {"--drain"});
  INFO(run.errors);
  REQUIRE(run.status == 0);
  CHECK(OutboxCase::values(topic).size() == 2000);

  std::istringstream lines(run.errors);
  std::size_t count = 0;
  long skipped = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    CAPTURE(line);
    for (const auto* field : {"/time", "/level", "/event", "/message"}) {
      CHECK(json_value(line, field) != "null");
      CHECK(json_value(line, field) != "(not one JSON object)");
    }
    if (json_value(line, "/event") != "event_skipped") continue;
    const auto more = json_value(line, "/more");
    skipped += more == "null" ? 1 : std::strtol(more.c_str(), nullptr, 10);
  }
  CHECK(skipped == 2000);
  CHECK(count <= 60);  // ten skipped ones in ten seconds
}

}  // namespace
}  // namespace walrelay::test
