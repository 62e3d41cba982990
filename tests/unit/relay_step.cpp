#include "tests/support/catch.h"
#include "tests/support/relay_bench.h"

namespace walrelay::test {

using namespace std::chrono_literals;

TEST_CASE("a transaction is confirmed once the last of its events is acknowledged") {
  RelayBench bench;
  bench.transaction(1100, {"a", "b"});
  bench.step();
  REQUIRE(bench.sink.held().size() == 2);
  CHECK(bench.sink.value(0) == "a");
  bench.sink.ack(1);
  bench.step();
  CHECK(bench.relay.confirmed() == Lsn{1000});
  bench.sink.ack(0);
  bench.step();
  CHECK(bench.relay.confirmed() == Lsn{1100});
  CHECK(bench.metrics.transactions.value() == 1);
  CHECK(bench.metrics.events(0, EventResult::delivered).value() == 2);
}

TEST_CASE("a full sink stops reading, and the event that did not fit is the next to go") {
  RelayBench bench;
  bench.sink.room = 1;
  bench.transaction(1100, {"a", "b", "c"});
  bench.step();
  CHECK(bench.relay.paused());
  CHECK_FALSE(bench.relay.reading());
  CHECK(bench.sink.value(0) == "a");
  CHECK(bench.source->unread() == 2);  // c and Commit: b is held back
  for (const auto* next : {"b", "c"}) {
    bench.sink.ack(0);
    bench.step();
    bench.step();
    CHECK(bench.sink.value(0) == next);
  }
  bench.sink.ack(0);
  bench.step();
  CHECK(bench.relay.confirmed() == Lsn{1100});
}

TEST_CASE("one event that lags behind stops reading once as much as may be in flight is delivered beyond it") {
  DeliveryOptions delivery;
  delivery.max_in_flight = 3;
  RelayBench bench(delivery);
  for (std::uint64_t i = 0; i < 10; ++i) bench.transaction(1100 + 10 * i, {"a"});
  for (int i = 0; i < 10; ++i) {
    bench.step();
    while (bench.sink.held().size() > 1) bench.sink.ack(1);
  }
  CHECK(bench.relay.paused());
  CHECK(bench.metrics.events(0, EventResult::delivered).value() == 2);
  bench.sink.ack(0);
  bench.step();
  CHECK(bench.relay.confirmed() == Lsn{1120});
  CHECK(bench.sink.held().size() == 3);
}

TEST_CASE("UPDATE, DELETE and TRUNCATE of an outbox are ignored and counted") {
  RelayBench bench;
  bench.source->add(begin_frame(Lsn{1092}, 1));
  bench.source->add(update_frame());
  bench.source->add(commit_frame(Lsn{1092}, Lsn{1100}));
  bench.step();
  CHECK(bench.sink.held().empty());
  CHECK(bench.metrics.events(0, EventResult::ignored).value() == 1);
  CHECK(bench.relay.confirmed() == Lsn{1100});
}

TEST_CASE("a new session goes on in the middle of the transaction that the last one broke off in, without a repeat") {
  RelayBench bench;
  bench.source->add(begin_frame(Lsn{1092}, 7));
  bench.source->add(insert_frame("1", "k", "a"));
  bench.source->add(insert_frame("2", "k", "b"));
  bench.source->close(SourceEnd::connection_lost);
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::source_ended);
  bench.connect();
  CHECK(bench.relay.resume_position() == Lsn{1000});
  bench.source->add(begin_frame(Lsn{1092}, 7));
  for (const auto* value : {"a", "b", "c"}) bench.source->add(insert_frame("x", "k", value));
  bench.source->add(commit_frame(Lsn{1092}, Lsn{1100}));
  bench.step();
  REQUIRE(bench.sink.held().size() == 3);
  CHECK(bench.sink.value(2) == "c");
  bench.sink.ack_all();
  bench.step();
  CHECK(bench.relay.confirmed() == Lsn{1100});
}

// Its events are counted over by their number: what was an event before has to be one again.
TEST_CASE("a partition that is detached between two sessions costs the transaction that they share no event") {
  RelayBench bench;
  for (int session = 0; session < 2; ++session) {
    bench.source->add(begin_frame(Lsn{1092}, 7));
    bench.source->add(relation_frame(kOtherRelation, "partition_of_outbox"));
    bench.step();
    const auto ancestor = session == 0 ? std::optional<std::string>("public.outbox") : std::nullopt;
    if (bench.relay.unresolved()) bench.relay.resolve(ancestor);
    bench.source->add(insert_frame("1", "k", "a", kOtherRelation));
    if (session == 0) bench.source->close(SourceEnd::connection_lost);
    bench.step();
    if (session == 0) bench.connect();
  }
  bench.source->add(insert_frame("2", "k", "b"));
  bench.source->add(commit_frame(Lsn{1092}, Lsn{1100}));
  bench.step();
  REQUIRE(bench.sink.held().size() == 2);
  CHECK(bench.sink.value(1) == "b");
}

TEST_CASE("a new session that begins with another transaction than the one broken off is another history") {
  RelayBench bench;
  bench.source->add(begin_frame(Lsn{1092}, 7));
  bench.source->add(insert_frame("1", "k", "a"));
  bench.source->close(SourceEnd::connection_lost);
  bench.step();
  bench.connect();
  bench.source->add(begin_frame(Lsn{1092}, 8));
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::other_history);
  CHECK(bench.relay.confirmed() == Lsn{1000});
}

TEST_CASE("bytes that cannot be read end the session and are not confirmed") {
  RelayBench bench;
  bench.source->add(begin_frame(Lsn{1092}, 7));
  bench.source->add(xlog_frame("Z"));
  bench.source->add(commit_frame(Lsn{1092}, Lsn{1100}));
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::protocol);
  CHECK(bench.relay.confirmed() == Lsn{1000});
  CHECK_THAT(bench.relay.end_reason(), ContainsSubstring("byte"));
}

TEST_CASE("by default an event that can never be delivered halts before it, once what was before it is settled") {
  RelayBench bench;
  bench.transaction(1100, {"a"});
  bench.transaction(1200, {"bad"});
  bench.transaction(1300, {"c"});
  bench.step();
  bench.sink.fail(1, FailureClass::too_large);
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::none);
  bench.transaction(1400, {"not read any more"});
  bench.sink.ack_all();
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::poison);
  CHECK(bench.relay.confirmed() == Lsn{1100});
  CHECK_THAT(bench.relay.end_reason(), ContainsSubstring("public.outbox") && ContainsSubstring("too-large"));
}

TEST_CASE("an event that the sink will not take is stopped at in its place, and its transaction stays open") {
  RelayBench bench;
  bench.sink.reject_value = "bad";
  bench.transaction(1100, {"a", "bad"});
  bench.step();
  bench.sink.ack_all();
  bench.step();
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::poison);
  CHECK(bench.relay.confirmed() == Lsn{1000});
}

TEST_CASE("skip counts the event and goes on") {
  RelayBench bench(on_error(OnError::skip));
  bench.sink.reject_value = "bad";
  bench.transaction(1100, {"a", "bad", "refused"});
  bench.step();
  REQUIRE(bench.sink.held().size() == 2);
  bench.sink.fail(1, FailureClass::rejected);
  bench.sink.ack(0);
  bench.step();
  CHECK(bench.relay.confirmed() == Lsn{1100});
  CHECK(bench.metrics.events(0, EventResult::skipped).value() == 2);
  CHECK(bench.metrics.events(0, EventResult::delivered).value() == 1);
}

TEST_CASE("a dead letter stands for the event: the transaction waits for it") {
  RelayBench bench(on_error(OnError::dead_letter));
  bench.transaction(1100, {"bad"});
  bench.step();
  bench.sink.fail(0, FailureClass::too_large);
  bench.step();
  REQUIRE(bench.sink.held().size() == 1);
  CHECK(bench.sink.topic(0) == "outbox.dead-letter");
  CHECK(bench.sink.value(0) == "bad");
  CHECK(bench.relay.confirmed() == Lsn{1000});
  bench.sink.ack(0);
  bench.step();
  CHECK(bench.relay.confirmed() == Lsn{1100});
  CHECK(bench.metrics.dead_letters.value() == 1);
}

TEST_CASE("a dead letter that cannot be delivered halts") {
  RelayBench bench(on_error(OnError::dead_letter));
  bench.transaction(1100, {"bad"});
  bench.step();
  bench.sink.fail(0, FailureClass::too_large);
  bench.step();
  bench.sink.fail(0, FailureClass::topic);
  bench.step();
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::poison);
  CHECK(bench.relay.confirmed() == Lsn{1000});
}

TEST_CASE("the reason of a halt names the command that goes past the event, and a relay started with it does") {
  {
    RelayBench bench;
    bench.transaction(1100, {"a", "bad", "c"});
    bench.step();
    bench.sink.fail(1, FailureClass::rejected);
    bench.sink.ack(0);
    bench.step();
    bench.step();
    REQUIRE(bench.relay.end() == RelayEnd::poison);
    CHECK_THAT(bench.relay.end_reason(), ContainsSubstring("walrelay run --skip id-bad "));
  }
  DeliveryOptions delivery;
  delivery.skip = SkipList({"id-bad", "id-of-no-event"});
  RelayBench bench(delivery);
  bench.sink.reject_value = "bad";  // neither sink nor broker is asked
  bench.transaction(1100, {"a", "bad", "c"});
  bench.step();
  REQUIRE(bench.sink.held().size() == 2);
  bench.sink.ack_all();
  bench.step();
  CHECK(bench.relay.confirmed() == Lsn{1100});
  CHECK(bench.metrics.events(0, EventResult::skipped).value() == 1);
  CHECK(bench.metrics.events(0, EventResult::delivered).value() == 2);
}

TEST_CASE("an event that the sink will not take and the dead letter of one are skipped by the same name") {
  DeliveryOptions delivery = on_error(GENERATE(OnError::halt, OnError::dead_letter));
  RelayBench bench(delivery);
  bench.sink.reject_value = "bad";
  bench.transaction(1100, {"bad"});
  bench.step();
  bench.step();
  REQUIRE(bench.relay.end() == RelayEnd::poison);
  CHECK_THAT(bench.relay.end_reason(), ContainsSubstring("walrelay run --skip id-bad "));
}

TEST_CASE("a skipped event is counted over when the transaction comes again in a new session") {
  DeliveryOptions delivery;
  delivery.skip = SkipList({place_by_number(Lsn{1092}, 1)});
  RelayBench bench(delivery);
  bench.source->add(begin_frame(Lsn{1092}, 7));
  for (const auto* value : {"a", "b"}) bench.source->add(insert_frame("x", "k", value));
  bench.source->close(SourceEnd::connection_lost);
  bench.step();
  bench.connect();
  bench.source->add(begin_frame(Lsn{1092}, 7));
  for (const auto* value : {"a", "b", "c"}) bench.source->add(insert_frame("x", "k", value));
  bench.source->add(commit_frame(Lsn{1092}, Lsn{1100}));
  bench.step();
  REQUIRE(bench.sink.held().size() == 2);
  CHECK(bench.sink.value(0) == "a");
  CHECK(bench.sink.value(1) == "c");
  CHECK(bench.metrics.events(0, EventResult::skipped).value() == 1);
}

TEST_CASE("a halt waits for what was committed before the event, not for what comes behind it") {
  RelayBench bench;
  bench.transaction(1100, {"before"});
  bench.transaction(1200, {"bad"});
  bench.transaction(1300, {"behind"});
  bench.step();
  bench.sink.fail(1, FailureClass::rejected);
  bench.step();
  CHECK(bench.sink.held_back());
  CHECK(bench.relay.end() == RelayEnd::none);
  bench.sink.ack(0);
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::poison);
  CHECK(bench.relay.confirmed() == Lsn{1100});
  CHECK(bench.sink.in_flight_events() == 1);
}

TEST_CASE("the policy goes by class") {
  DeliveryOptions delivery = on_error(OnError::halt);
  delivery.on_error_by_class[FailureClass::too_large] = OnError::skip;
  RelayBench bench(delivery);
  bench.transaction(1100, {"big"});
  bench.transaction(1200, {"odd"});
  bench.step();
  bench.sink.fail(0, FailureClass::too_large);
  bench.sink.fail(0, FailureClass::rejected);
  bench.step();
  bench.step();
  CHECK(bench.relay.confirmed() == Lsn{1100});
  CHECK(bench.relay.end() == RelayEnd::poison);
}

TEST_CASE("events in doubt are never confirmed, and a fatal sink ends the relay") {
  RelayBench bench;
  bench.transaction(1100, {"a"});
  bench.step();
  bench.sink.doubt(0);
  bench.sink.fatal = "out of sequence";
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::sink_fatal);
  CHECK(bench.relay.confirmed() == Lsn{1000});
}

TEST_CASE("deliveries of an earlier relay on the same sink confirm nothing") {
  RelayBench bench;
  Relay other({}, bench.router, bench.sink, bench.metrics, bench.clock, Lsn{1000}, 2);
  bench.transaction(1100, {"a"});
  bench.step();
  bench.sink.ack(0);
  other.step(bench.clock.now());
  CHECK(other.confirmed() == Lsn{1000});
}

TEST_CASE("a drain finishes the transaction that is half received, waits for its acks, and reads no further") {
  RelayBench bench;
  bench.sink.room = 1;
  bench.transaction(1100, {"a", "b"});
  bench.transaction(1200, {"c"});
  bench.step();
  bench.relay.drain(bench.clock.now() + 10s);
  bench.sink.ack(0);
  bench.step();
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::none);
  bench.sink.ack(0);
  bench.step();
  CHECK(bench.relay.end() == RelayEnd::drained);
  CHECK(bench.relay.confirmed() == Lsn{1100});
  CHECK(bench.source->unread() > 0);
}

TEST_CASE("a drain gives up at its deadline") {
  RelayBench bench;
  bench.transaction(1100, {"a"});
  bench.step();
  bench.relay.drain(bench.clock.now() + 10s);
  bench.step(9s);
  CHECK(bench.relay.end() == RelayEnd::none);
  bench.step(1s);
  CHECK(bench.relay.end() == RelayEnd::drained);
  CHECK(bench.relay.confirmed() == Lsn{1000});
}

TEST_CASE("a relation that is not configured stops reading until the catalog has spoken") {
  RelayBench bench;
  bench.source->add(begin_frame(Lsn{1092}, 7));
  bench.source->add(relation_frame(kOtherRelation, "outbox_2026"));
  bench.source->add(insert_frame("1", "k", "a", kOtherRelation));
  bench.source->add(commit_frame(Lsn{1092}, Lsn{1100}));
  bench.step();
  REQUIRE(bench.relay.unresolved());
  CHECK(bench.relay.unresolved()->relation_id == kOtherRelation);
  CHECK_FALSE(bench.relay.reading());
  SECTION("a partition of an outbox is relayed") {
    bench.relay.resolve("public.outbox");
    bench.step();
    CHECK(bench.sink.held().size() == 1);
  }
  SECTION("another table is ignored and counted") {
    bench.relay.resolve(std::nullopt);
    bench.step();
    CHECK(bench.sink.held().empty());
    CHECK(bench.metrics.unmapped_changes.value() == 1);
    CHECK(bench.relay.confirmed() == Lsn{1100});
  }
  SECTION("one that the catalog no longer has halts, as it may have been a partition") {
    bench.relay.cannot_resolve();
    bench.step();
    bench.step();
    CHECK(bench.relay.end() == RelayEnd::poison);
    CHECK(bench.relay.confirmed() == Lsn{1000});
  }
}

TEST_CASE("an event with an invalid traceparent is delivered, and counted by outbox") {
  auto rules = stream_rules();
  rules[0].headers = {{"traceparent", "{key}"}};
  RelayBench bench(RelayOptions{}, Lsn{1000}, rules);
  bench.source->add(begin_frame(Lsn{1092}, 1));
  bench.source->add(insert_frame("1", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "good"));
  bench.source->add(insert_frame("2", "no trace", "bad"));
  bench.source->add(commit_frame(Lsn{1092}, Lsn{1100}));
  bench.sink.room = 1;  // the second is tried more than once, and counted once
  bench.step();
  bench.step();
  bench.sink.ack(0);
  bench.step();
  CHECK(bench.sink.value(0) == "bad");
  bench.sink.ack(0);
  bench.step();
  CHECK(bench.relay.confirmed() == Lsn{1100});
  CHECK(bench.metrics.invalid_traceparents(0).value() == 1);
}

}  // namespace walrelay::test
