// Tracing headers: passed on as they are, and looked at only to be counted.
#include "decoder/trace_context.h"

#include <array>
#include <string>
#include <string_view>

#include "tests/support/catch.h"
#include "tests/unit/router_fixture.h"

namespace walrelay::test {
namespace {

constexpr std::string_view kTraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr std::string_view kState = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";
constexpr std::string_view kBaggage = "tenant=acme,note=a%20b";

OutboxRules traced_rules(std::string_view parent, std::string_view state, std::string_view baggage) {
  auto rules = plain_rules();
  rules.headers = {
      {"traceparent", std::string(parent)}, {"tracestate", std::string(state)}, {"baggage", std::string(baggage)}};
  return rules;
}

TEST_CASE("a traceparent is valid as W3C Trace Context says") {
  for (const std::string_view valid : std::to_array<std::string_view>({
           kTraceParent,
           "00-00000000000000000000000000000001-0000000000000001-00",
           "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-the-future-will-be-like",
           "fe-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff-",
       })) {
    CAPTURE(valid);
    CHECK(is_traceparent(valid));
  }
  for (const std::string_view invalid : std::to_array<std::string_view>({
           "",
           "00",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 ",
           " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.more",
           "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "0x-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333z-01",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x",
           "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331_01",
       })) {
    CAPTURE(invalid);
    CHECK_FALSE(is_traceparent(invalid));
  }
}

TEST_CASE("tracing headers come from columns as they are, and a NULL leaves one out") {
  const auto rules = traced_rules("{trace_parent}", "{trace_state}", "{baggage}");
  const OneRow all(rules, {{"payload"}, {"trace_parent"}, {"trace_state"}, {"baggage"}},
                   {"x", kTraceParent, kState, kBaggage});
  REQUIRE(all.routed.status == RouteStatus::event);
  CHECK(header(all.routed.event, "traceparent") == kTraceParent);
  CHECK(header(all.routed.event, "tracestate") == kState);
  CHECK(header(all.routed.event, "baggage") == kBaggage);
  CHECK_FALSE(all.routed.event.invalid_traceparent);
  const OneRow none(rules, {{"payload"}, {"trace_parent"}, {"trace_state"}, {"baggage"}}, {"x", kNull, kNull, kNull});
  REQUIRE(none.routed.status == RouteStatus::event);
  CHECK(none.routed.event.headers.empty());
  CHECK_FALSE(none.routed.event.invalid_traceparent);
}

TEST_CASE("tracing headers come from the payload by JSON pointer, and what is not there is left out") {
  const auto rules =
      traced_rules("{payload/_meta/traceparent}", "{payload/_meta/tracestate}", "{payload/_meta/baggage}");
  const auto payload = R"({"orderId": 1, "_meta": {"traceparent": ")" + std::string(kTraceParent) +
                       R"(", "tracestate": ")" + std::string(kState) + R"(", "baggage": null}})";
  const OneRow some(rules, {{"payload"}}, {payload});
  REQUIRE(some.routed.status == RouteStatus::event);
  CHECK(some.routed.event.value == payload);
  CHECK(header(some.routed.event, "traceparent") == kTraceParent);
  CHECK(header(some.routed.event, "tracestate") == kState);
  CHECK(header(some.routed.event, "baggage") == "(absent)");
  CHECK_FALSE(some.routed.event.invalid_traceparent);
  const OneRow none(rules, {{"payload"}}, {R"({"orderId": 1})"});
  REQUIRE(none.routed.status == RouteStatus::event);
  CHECK(none.routed.event.headers.empty());
  CHECK_FALSE(none.routed.event.invalid_traceparent);
}

TEST_CASE("an invalid traceparent is marked and passed on as it is") {
  for (const std::string_view text : {"", "no trace", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"}) {
    CAPTURE(text);
    const OneRow row(traced_rules("{trace_parent}", "", ""), {{"payload"}, {"trace_parent"}}, {"x", text});
    REQUIRE(row.routed.status == RouteStatus::event);
    CHECK(header(row.routed.event, "traceparent") == text);
    CHECK(row.routed.event.invalid_traceparent);
  }
  auto elsewhere = plain_rules();
  elsewhere.headers = {{"trace", "{trace_parent}"}};
  CHECK_FALSE(OneRow(elsewhere, {{"payload"}, {"trace_parent"}}, {"x", "no trace"}).routed.event.invalid_traceparent);
}

TEST_CASE("a message's own traceparent is looked at too") {
  OutboxRules rules;
  rules.messages = "outbox";
  OutboxRouter router({rules});
  const auto marked = [&](std::string_view parent) {
    const auto content =
        R"({"topic": "t", "headers": {"traceparent": ")" + std::string(parent) + R"("}, "payload": 1})";
    const auto routed = router.route(LogicalMessage{true, Lsn{1}, "outbox", content}, kCommitTime);
    REQUIRE(routed.status == RouteStatus::event);
    CHECK(header(routed.event, "traceparent") == parent);
    return routed.event.invalid_traceparent;
  };
  CHECK_FALSE(marked(kTraceParent));
  CHECK(marked("no trace"));
}

}  // namespace
}  // namespace walrelay::test
