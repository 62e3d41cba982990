#include <fcntl.h>

#include <string>

#include "connector/observe/admin_pages.h"
#include "connector/observe/log.h"
#include "tests/support/catch.h"
#include "tests/support/json_value.h"
#include "tests/support/set_clock.h"

namespace walrelay::test {
namespace {

struct PagesFixture {
  SetClock clock;
  RelayMetrics metrics{1};
  StatusBoard board{clock.wall()};
  History history{metrics, board, clock};
  AdminPages pages{{"1.2.3", "orders", {"public.outbox"}, "kafka broker:9092"}, metrics, board, history, clock};

  std::string status_member(std::string_view pointer) const { return json_value(pages.status().body, pointer); }
};

}  // namespace

TEST_CASE_METHOD(PagesFixture, "a relay that has not connected yet is not ready, and says so") {
  CHECK(pages.readyz().status == 503);
  CHECK(pages.readyz().body == "starting: not connected to PostgreSQL yet\n");
  board.unblock(ReadySubject::server);
  CHECK(pages.readyz().status == 200);
}

TEST_CASE_METHOD(PagesFixture, "readyz gives every reason on a line of its own until it is gone") {
  board.block(ReadySubject::server, "PostgreSQL db:5432 is away: connection refused");
  board.block(ReadySubject::sink, "no broker can be reached");
  board.block(ReadySubject::sink, "broker:9092 is down");
  CHECK(pages.readyz().body == "PostgreSQL db:5432 is away: connection refused\nbroker:9092 is down\n");
  board.unblock(ReadySubject::server);
  CHECK(pages.readyz().body == "broker:9092 is down\n");
  board.unblock(ReadySubject::sink);
  CHECK(pages.readyz().status == 200);
}

TEST_CASE_METHOD(PagesFixture, "a healthy standby is ready, and its status says what it is") {
  board.unblock(ReadySubject::server);
  board.set_state(RelayState::standby, clock.wall());
  CHECK(pages.readyz().status == 200);
  CHECK(status_member("/role") == "standby");
  CHECK(status_member("/state") == "standby");
}

TEST_CASE_METHOD(PagesFixture, "healthz fails only once the loop is silent for longer than its bound") {
  CHECK(pages.healthz().status == 200);
  board.block(ReadySubject::sink, "broker down");
  metrics.heartbeat.beat(clock.now());
  clock.advance(AdminPages::kLoopSilenceMax);
  CHECK(pages.healthz().status == 200);
  clock.advance(std::chrono::seconds(1));
  CHECK(pages.healthz().status == 503);
  CHECK_THAT(pages.healthz().body, ContainsSubstring("31 s"));
  CHECK_THAT(pages.readyz().body, ContainsSubstring("31 s"));
  metrics.heartbeat.beat(clock.now());
  CHECK(pages.healthz().status == 200);
}

TEST_CASE_METHOD(PagesFixture, "status gives null for what is not known") {
  for (const auto* pointer : {"/positions/confirmed", "/positions/frontier", "/positions/server", "/lag/bytes",
                              "/lag/seconds", "/slot_retained_bytes", "/slot_safe_bytes", "/server", "/last_error"}) {
    CAPTURE(pointer);
    CHECK(status_member(pointer) == "null");
  }
}

TEST_CASE_METHOD(PagesFixture, "status shows positions, lag, counts, server and last error") {
  metrics.active.set(1);
  metrics.confirmed_lsn.set(Lsn{0x1'00000010});
  metrics.server_wal_lsn.set(Lsn{0x1'00000110});
  metrics.in_flight_events.set(5);
  metrics.oldest_unconfirmed_commit.set(clock.wall() - 1'500'000);
  metrics.events(0, EventResult::skipped).add(4);
  metrics.backpressure.start(clock.now());
  board.set_server({"db:5432", "15.18", true});
  board.set_last_error("it \"broke\"", 0);
  CHECK(status_member("/version") == "1.2.3");
  CHECK(status_member("/slot") == "orders");
  CHECK(status_member("/role") == "active");
  CHECK(status_member("/positions/confirmed") == "1/10");
  CHECK(status_member("/lag/bytes") == "256");
  CHECK(status_member("/lag/seconds") == "1.5");
  CHECK(status_member("/in_flight/events") == "5");
  CHECK(status_member("/reading_paused") == "true");
  CHECK(status_member("/server") == R"({"host":"db:5432","version":"15.18","tls":true})");
  CHECK(status_member("/sink") == "kafka broker:9092");
  CHECK(status_member("/outboxes/0/name") == "public.outbox");
  CHECK(status_member("/outboxes/0/skipped") == "4");
  CHECK(status_member("/last_error") == R"({"time":"2000-01-01T00:00:00.000Z","text":"it \"broke\""})");
}

TEST_CASE_METHOD(PagesFixture,
                 "status tells what is left of the slot, reconnects, dead letters and the last warnings") {
  board.set_wal_status("extended");
  metrics.slot_safe_bytes.set(-5);
  metrics.slot_retained_bytes.set(7);
  metrics.dead_letters.add(2);
  metrics.reconnects_source.add(3);
  metrics.reconnects_sink.add(1);
  configure_log({}, ::open("/dev/null", O_WRONLY | O_CLOEXEC));
  log_warning("dead_letter", "too large", {{"outbox", "public.outbox"}});
  CHECK(status_member("/slot_wal_status") == "extended");
  CHECK(status_member("/slot_safe_bytes") == "-5");
  CHECK(status_member("/slot_seconds_until_lost") == "0");
  CHECK(status_member("/dead_letters") == "2");
  CHECK(status_member("/reconnects") == R"({"source":3,"sink":1})");
  CHECK(status_member("/messages/0/level") == "warning");
  CHECK(status_member("/messages/0/event") == "dead_letter");
  CHECK(status_member("/messages/0/text") == "too large outbox=public.outbox");
}

TEST_CASE_METHOD(PagesFixture, "status counts what is written back to the tables for which that is configured") {
  CHECK(status_member("/outboxes/0/write_back") == "null");
  CHECK(status_member("/write_back_pending_rows") == "null");
  RelayMetrics two(2);
  two.write_back(1, WriteBackResult::written).add(5);
  two.write_back(1, WriteBackResult::failed).add(2);
  two.write_back_pending.set(3);
  const AdminPages writing({"1.2.3", "orders", {"a", "b"}, "kafka", 0, "", {false, true}}, two, board, history, clock);
  const auto body = writing.status().body;
  CHECK(json_value(body, "/outboxes/0/write_back") == "null");
  CHECK(json_value(body, "/outboxes/1/write_back") == R"({"written":5,"unchanged":0,"failed":2})");
  CHECK(json_value(body, "/write_back_pending_rows") == "3");
}

TEST_CASE_METHOD(PagesFixture, "status says ready exactly when readyz does") {
  const auto agree = [&] { return (pages.readyz().status == 200) == (status_member("/ready") == "true"); };
  CHECK(agree());
  board.unblock(ReadySubject::server);
  CHECK(pages.readyz().status == 200);
  CHECK(agree());
  metrics.heartbeat.beat(clock.now());
  clock.advance(AdminPages::kLoopSilenceMax + std::chrono::seconds(1));
  CHECK(pages.readyz().status == 503);
  CHECK(agree());
  CHECK_THAT(status_member("/not_ready/0"), ContainsSubstring("has not moved"));
}

TEST_CASE_METHOD(PagesFixture, "history gives the fields' names, and null for what was not known") {
  history.turn(clock.now());
  const auto page = pages.history();
  CHECK(page.content_type == "application/json");
  CHECK(json_value(page.body, "/interval_seconds") == "5");
  CHECK(json_value(page.body, "/fields/3") == "lag_seconds");
  CHECK(json_value(page.body, "/samples/0/0") == "1746684800000");
  CHECK(json_value(page.body, "/samples/0/1") == "starting");
  CHECK(json_value(page.body, "/samples/0/2") == "false");
  CHECK(json_value(page.body, "/samples/0/3") == "null");
  CHECK(json_value(page.body, "/samples/1/0") == "null");
}

TEST_CASE_METHOD(PagesFixture, "a state's time is that of the change to it") {
  board.set_state(RelayState::streaming, 1'000'000);
  board.set_state(RelayState::streaming, 9'000'000);
  CHECK(status_member("/since") == "2000-01-01T00:00:01.000Z");
}

}  // namespace walrelay::test
