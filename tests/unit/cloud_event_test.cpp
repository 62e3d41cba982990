// CloudEvents 1.0 in Kafka's binary mode: exactly which headers.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decoder/event_time.h"
#include "tests/support/catch.h"
#include "tests/unit/router_fixture.h"

namespace walrelay::test {
namespace {

constexpr std::string_view kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

OutboxRules cloud_rules() {
  auto rules = preset_rules("standard");
  rules.cloudevents.emplace().source = "/shop/orders";
  return rules;
}

// A row of the preset's table.
OneRow standard_row(const OutboxRules& rules, std::optional<std::string_view> id, std::optional<std::string_view> type,
                    std::optional<std::string_view> payload, std::optional<std::string_view> trace_parent = kNull) {
  return {rules,
          {{"id"}, {"occurred_at"}, {"type"}, {"payload"}, {"trace_parent"}},
          {id, "2024-02-29 12:34:56.789123+00", type, payload, trace_parent}};
}

using Headers = std::vector<std::pair<std::string, std::string>>;

Headers headers_of(const OneRow& row) {
  REQUIRE(row.routed.status == RouteStatus::event);
  Headers headers;
  for (const auto& [name, value] : row.routed.event.headers) headers.emplace_back(name, value.value_or("NULL"));
  return headers;
}

std::string rejection_of(const OneRow& row) {
  REQUIRE(row.routed.status == RouteStatus::rejected);
  CHECK(row.routed.rejection->failure_class == FailureClass::mapping);
  return row.routed.rejection->reason;
}

TEST_CASE("a CloudEvent's attributes are headers, beside those that there are without") {
  CHECK(headers_of(standard_row(cloud_rules(), "42", "OrderPlaced", "{}")) ==
        Headers{{"id", "42"},
                {"ce_id", "42"},
                {"ce_specversion", "1.0"},
                {"ce_source", "/shop/orders"},
                {"ce_type", "OrderPlaced"},
                {"ce_time", "2024-02-29T12:34:56.789Z"},
                {"content-type", "application/json"},
                {"type", "OrderPlaced"}});
}

TEST_CASE("every attribute of a CloudEvent can be mapped, and extensions") {
  auto rules = cloud_rules();
  rules.id_header = "";
  auto& cloud = *rules.cloudevents;
  cloud.source = "/shop/{payload/shop}";
  cloud.type = "com.example.{type|kebab}.v1";
  cloud.subject = "{payload/orderId}";
  cloud.dataschema = "https://example.com/{type}.json";
  cloud.datacontenttype = "application/vnd.shop+json";
  cloud.extensions = {{"tenant", "{payload/tenant}"}, {"region", "{payload/region}"}};
  CHECK(headers_of(standard_row(rules, "42", "OrderPlaced", R"({"shop": 7, "orderId": 42, "tenant": "acme"})")) ==
        Headers{{"ce_id", "42"},
                {"ce_specversion", "1.0"},
                {"ce_source", "/shop/7"},
                {"ce_type", "com.example.order-placed.v1"},
                {"ce_time", "2024-02-29T12:34:56.789Z"},
                {"ce_subject", "42"},
                {"ce_dataschema", "https://example.com/OrderPlaced.json"},
                {"content-type", "application/vnd.shop+json"},
                {"ce_tenant", "acme"},
                {"type", "OrderPlaced"}});
}

TEST_CASE("a CloudEvent has its tracing headers as the extension too, unless that is mapped otherwise") {
  auto rules = cloud_rules();
  rules.headers.emplace_back("tracestate", "{payload/state}");
  const auto row = standard_row(rules, "42", "A", R"({"state": "a=b"})", kParent);
  CHECK(header(row.routed.event, "traceparent") == kParent);
  CHECK(header(row.routed.event, "ce_traceparent") == kParent);
  CHECK(header(row.routed.event, "tracestate") == "a=b");
  CHECK(header(row.routed.event, "ce_tracestate") == "a=b");
  rules.cloudevents->extensions = {{"traceparent", ""}};
  const auto without = standard_row(rules, "42", "A", "{}", kParent);
  CHECK(header(without.routed.event, "traceparent") == kParent);
  CHECK(header(without.routed.event, "ce_traceparent") == "(absent)");
}

TEST_CASE("a tombstone is a CloudEvent without data") {
  const auto row = standard_row(cloud_rules(), "42", "OrderDeleted", kNull);
  CHECK_FALSE(row.routed.event.value);
  CHECK(header(row.routed.event, "ce_type") == "OrderDeleted");
}

TEST_CASE("optional attributes that are NULL or empty are left out, and the content type can be") {
  auto rules = cloud_rules();
  rules.cloudevents->subject = "{payload/orderId}";
  rules.cloudevents->extensions = {{"tenant", "{payload/tenant}"}};
  rules.cloudevents->datacontenttype = "";
  const auto row = standard_row(rules, "42", "A", R"({"orderId": "", "tenant": null})");
  REQUIRE(row.routed.status == RouteStatus::event);
  for (const auto* name : {"ce_subject", "ce_tenant", "content-type"}) {
    CAPTURE(name);
    CHECK(header(row.routed.event, name) == "(absent)");
  }
}

TEST_CASE("a row without a required attribute is a failure of mapping that names it") {
  auto rules = cloud_rules();
  CHECK(rejection_of(standard_row(rules, "42", kNull, "{}")) ==
        "[[outbox]] public.outbox, id 42: CloudEvents attribute \"type\" is NULL or empty, and a CloudEvent needs it; "
        "give the row one, or change its template");
  CHECK_THAT(rejection_of(standard_row(rules, "42", "", "{}")), ContainsSubstring("attribute \"type\" is NULL"));
  CHECK_THAT(rejection_of(standard_row(rules, kNull, "A", "{}")), ContainsSubstring("attribute \"id\" is NULL"));
  rules.cloudevents->source = "{payload/shop}";
  CHECK_THAT(rejection_of(standard_row(rules, "42", "A", "{}")), ContainsSubstring("attribute \"source\" is NULL"));
}

TEST_CASE("a CloudEvent that cannot be one is refused before any row") {
  auto rules = cloud_rules();
  rules.cloudevents->source.reset();
  CHECK(error_of(rules) ==
        "[[outbox]] public.outbox: a CloudEvent needs a source; write source = \"/shop/orders\" under "
        "[outbox.cloudevents]");
  rules = cloud_rules();
  rules.headers.clear();
  CHECK_THAT(error_of(rules), ContainsSubstring("a CloudEvent needs a type"));
  rules.cloudevents->type = "A";
  CHECK(error_of(rules) == "no error");
  rules.id = "";
  CHECK_THAT(error_of(rules), ContainsSubstring("a CloudEvent needs an id"));
  rules = cloud_rules();
  rules.headers.emplace_back("ce_subject", "{id}");
  CHECK_THAT(error_of(rules), ContainsSubstring("header \"ce_subject\" is the CloudEvent's; set subject under"));
  rules = cloud_rules();
  rules.headers.emplace_back("content-type", "text/plain");
  CHECK_THAT(error_of(rules), ContainsSubstring("set datacontenttype under"));
  for (const auto* name : {"", "Tenant", "tenant_id", "ä", "time", "data"}) {
    CAPTURE(name);
    rules = cloud_rules();
    rules.cloudevents->extensions = {{name, "x"}};
    CHECK(error_of(rules) != "no error");
  }
  rules = cloud_rules();
  rules.cloudevents->subject = "{id";
  CHECK_THAT(error_of(rules), ContainsSubstring("CloudEvents attribute \"subject\": template"));
}

TEST_CASE("a message is a CloudEvent with its own fields, and its headers win") {
  OutboxRules rules;
  rules.messages = "outbox";
  rules.cloudevents.emplace().source = "/shop";
  OutboxRouter router({rules});
  const auto routed = router.route(
      LogicalMessage{true, Lsn{1}, "outbox",
                     R"({"topic": "t", "id": "7", "type": "A", "headers": {"ce_source": "/other"}, "payload": 1})"},
      kCommitTime);
  REQUIRE(routed.status == RouteStatus::event);
  CHECK(header(routed.event, "ce_id") == "7");
  CHECK(header(routed.event, "ce_type") == "A");
  CHECK(header(routed.event, "ce_source") == "/other");
  CHECK(header(routed.event, "ce_time") == "2000-01-01T00:00:01.000Z");
}

TEST_CASE("an event's time is written as RFC 3339, as far as that goes") {
  const auto text = [](std::int64_t ms) {
    std::string out = "at ";
    const bool written = append_event_time(ms, out);
    return written ? out : out + "?";
  };
  CHECK(text(1) == "at 1970-01-01T00:00:00.001Z");
  CHECK(text(1'709'210'096'789) == "at 2024-02-29T12:34:56.789Z");
  CHECK(text(253'402'300'799'999) == "at 9999-12-31T23:59:59.999Z");
  CHECK(text(253'402'300'800'000) == "at ?");
}

}  // namespace
}  // namespace walrelay::test
