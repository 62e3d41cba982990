// CloudEvents and tracing headers as a consumer of the topic gets them.

#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/outbox_case.h"

namespace walrelay::test {
namespace {

using Headers = std::vector<std::pair<std::string, std::optional<std::string>>>;

constexpr const char* kId = "354afe16-939a-4ea8-8e17-8bb0840b6886";
constexpr const char* kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST_CASE("a consumer gets a CloudEvent in binary mode, tracing headers included") {
  OutboxCase outbox;
  outbox.exec(
      "CREATE TABLE outbox (id uuid PRIMARY KEY, occurred_at timestamptz, type text, payload jsonb, trace_parent text, "
      "trace_state text)");
  const auto topic = outbox.name() + ".events";
  outbox.add_outbox("table = \"public.outbox\"\npreset = \"standard\"\ntopic = \"" + topic + R"("
key = "{payload/orderId}"
headers = { tracestate = "{trace_state}", baggage = "{payload/_meta/baggage}" }
[outbox.cloudevents]
source = "/shop/orders"
type = "com.example.{type|kebab}"
subject = "{payload/orderId}"
extensions = { tenant = "{payload/_meta/tenant}" }
)");
  outbox.init();
  outbox.exec(std::string("INSERT INTO outbox VALUES ('") + kId +
              "', '2024-02-29 13:34:56.789123+01', 'OrderPlaced', '{\"orderId\": 42, \"_meta\": {\"tenant\": \"acme\", "
              "\"baggage\": \"a=b\"}}', '" +
              kParent + "', 'rojo=1')");
  outbox.exec("INSERT INTO outbox VALUES (gen_random_uuid(), now(), 'OrderDeleted', NULL, NULL, NULL)");
  outbox.drain();
  const auto records = OutboxCase::records(topic);
  REQUIRE(records.size() == 2);
  const auto& placed = records[0].header("type") == "OrderPlaced" ? records[0] : records[1];
  CHECK(placed.key == "42");
  CHECK(placed.headers == Headers{{"id", kId},
                                  {"ce_id", kId},
                                  {"ce_specversion", "1.0"},
                                  {"ce_source", "/shop/orders"},
                                  {"ce_type", "com.example.order-placed"},
                                  {"ce_time", "2024-02-29T12:34:56.789Z"},
                                  {"ce_subject", "42"},
                                  {"content-type", "application/json"},
                                  {"ce_tenant", "acme"},
                                  {"ce_traceparent", kParent},
                                  {"ce_tracestate", "rojo=1"},
                                  {"type", "OrderPlaced"},
                                  {"traceparent", kParent},
                                  {"tracestate", "rojo=1"},
                                  {"baggage", "a=b"}});
  const auto& deleted = &placed == &records[0] ? records[1] : records[0];
  CHECK_FALSE(deleted.value);
  CHECK(deleted.header("ce_type") == "com.example.order-deleted");
  CHECK_FALSE(deleted.header("ce_subject"));
  CHECK_FALSE(deleted.header("traceparent"));
}

}  // namespace
}  // namespace walrelay::test
