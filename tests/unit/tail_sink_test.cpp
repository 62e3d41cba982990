// `walrelay tail` prints what was asked for.

#include "connector/commands/tail_sink.h"

#include <array>

#include "tests/support/catch.h"
#include "tests/support/held_sink.h"

namespace walrelay::test {
namespace {

TailFlags one_event() {
  TailFlags flags;
  flags.limit = 1;
  return flags;
}

// What a tail with these flags prints of four events, by their ids.
std::string printed(const TailFlags& flags) {
  auto held = std::make_unique<HeldSink>();
  auto& output = *held;
  TailSink sink(std::move(held), flags);
  struct Row {
    std::string_view id, topic, type, tenant;
    NullableBytes key;
  };
  for (const Row& row : {Row{"1", "orders", "OrderPlaced", "acme", "k1"}, Row{"2", "orders", "OrderPaid", "acme", "k2"},
                         Row{"3", "stock", "OrderPlaced", "", "k1"}, Row{"4", "stock", "OrderPaid", "zeta", {}}}) {
    const std::array headers = {EventHeader{"type", row.type}, EventHeader{"tenant", row.tenant}};
    OutboxEvent event;
    event.id = row.id;
    event.topic = row.topic;
    event.key = row.key;
    event.value = row.id;
    event.headers = headers;
    CHECK(sink.submit(event, 0) == SubmitStatus::accepted);
  }
  std::string ids;
  for (const auto& event : output.held()) ids += event.event.value.value_or("");
  output.ack_all();
  CHECK(sink.in_flight_events() == 4);
  CHECK(sink.collect(100).size() == 4);
  CHECK(sink.in_flight_events() == 0);
  return ids;
}

TEST_CASE("a tail without filters prints everything") { CHECK(printed({}) == "1234"); }

TEST_CASE("a tail prints the events that fit all its filters, and the others are dealt with") {
  const auto of = [](auto set) {
    TailFlags flags;
    set(flags);
    return printed(flags);
  };
  CHECK(of([](auto& f) { f.topic = "orders"; }) == "12");
  CHECK(of([](auto& f) { f.id = "3"; }) == "3");
  CHECK(of([](auto& f) { f.key = "k1"; }) == "13");
  CHECK(of([](auto& f) { f.key = ""; }).empty());
  CHECK(of([](auto& f) { f.type = "OrderPaid"; }) == "24");
  CHECK(of([](auto& f) { f.headers = {{"tenant", "acme"}}; }) == "12");
  CHECK(of([](auto& f) { f.headers = {{"tenant", ""}}; }) == "3");
  CHECK(of([](auto& f) { f.headers = {{"absent", ""}}; }).empty());
  CHECK(of([](auto& f) { f.headers = {{"tenant", "acme"}, {"type", "OrderPaid"}}; }) == "2");
  CHECK(of([](auto& f) { f.topic = "stock", f.type = "OrderPlaced"; }) == "3");
  CHECK(of([](auto& f) { f.type = "OrderPlaced", f.limit = 1; }) == "1");
}

TEST_CASE("a tail has finished once as many as its limit are out") {
  auto held = std::make_unique<HeldSink>();
  auto& output = *held;
  TailSink sink(std::move(held), one_event());
  const OutboxEvent event;
  CHECK_FALSE(sink.finished());
  CHECK(sink.submit(event, 0) == SubmitStatus::accepted);
  CHECK_FALSE(sink.finished());
  output.ack_all();
  CHECK(sink.collect(100).size() == 1);
  CHECK(sink.finished());
}

TEST_CASE("an event that the output has no room for is not counted as printed") {
  auto held = std::make_unique<HeldSink>();
  auto& output = *held;
  output.room = 0;
  TailSink sink(std::move(held), one_event());
  const OutboxEvent event;
  CHECK(sink.submit(event, 0) == SubmitStatus::full);
  output.room = 1;
  CHECK(sink.submit(event, 0) == SubmitStatus::accepted);
  CHECK(output.held().size() == 1);
}

}  // namespace
}  // namespace walrelay::test
