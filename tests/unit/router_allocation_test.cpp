// Counts calls of operator new in this whole binary, to show that routing an event makes none once its buffers have
// grown.
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/router_fixture.h"

namespace {

std::atomic<long> allocations{0};

void* counted(std::size_t size) {
  ++allocations;
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return ++allocations, std::malloc(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return ++allocations, std::malloc(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace walrelay::test {
namespace {

template <typename Message>
long allocations_of_the_second(OutboxRouter& router, const Message& message) {
  REQUIRE(router.route(message, kCommitTime).status == RouteStatus::event);
  const long before = allocations;
  for (int i = 0; i < 100; ++i) (void)router.route(message, kCommitTime);
  return allocations - before;
}

constexpr std::string_view kPayload = R"({"orderId":"0123456789-0123456789-0123456789","amount":12.50})";

TEST_CASE("routing: presets allocate nothing per event") {
  const std::string preset = GENERATE("standard", "pascal", "messageid", "debezium");
  CAPTURE(preset);
  OutboxRouter router({preset_rules(preset)});
  TestTable table(kTableId, "public", "outbox",
                  {{"id"},
                   {"type"},
                   {"payload"},
                   {"occurred_at"},
                   {"trace_parent"},
                   {"aggregatetype"},
                   {"aggregateid"},
                   {"Id"},
                   {"Type"},
                   {"Payload"},
                   {"OccurredAt"},
                   {"MessageId"},
                   {"CreatedAt"}});
  (void)router.relation(table.describe());
  constexpr std::string_view kId = "354afe16-939a-4ea8-8e17-8bb0840b6886";
  constexpr std::string_view kTime = "2024-02-29 12:34:56.789123+00";
  const auto row =
      table.insert({kId, "OrderPlaced", kPayload, kTime, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                    "order", kId, kId, "OrderPlaced", kPayload, kTime, kId, kTime});
  CHECK(allocations_of_the_second(router, row) == 0);
}

TEST_CASE("routing: JSON pointers, filters and bytea allocate nothing per event") {
  auto rules = plain_rules();
  rules.id = "{payload/orderId}";
  rules.topic = "outbox.{type|kebab}";
  rules.key = "{payload/orderId}";
  rules.headers = {{"amount", "{payload/amount}"}, {"mixed", "{type}/{payload/orderId|upper}"}};
  rules.value = "{raw}";
  OutboxRouter router({rules});
  TestTable table(kTableId, "public", "outbox", {{"type"}, {"payload"}, {"raw", kByteaType}});
  (void)router.relation(table.describe());
  const std::string hex = "\\x" + std::string(2000, 'a');
  CHECK(allocations_of_the_second(router, table.insert({"SomethingLongHasHappenedToAnOrder", kPayload, hex})) == 0);
}

TEST_CASE("routing: CloudEvents and tracing headers allocate nothing per event") {
  auto rules = preset_rules("standard");
  auto& cloud = rules.cloudevents.emplace();
  cloud.source = "/shop/{payload/orderId}";
  cloud.subject = "{payload/orderId}";
  cloud.extensions = {{"tenant", "{payload/orderId|upper}"}};
  OutboxRouter router({rules});
  TestTable table(kTableId, "public", "outbox", {{"id"}, {"occurred_at"}, {"type"}, {"payload"}, {"trace_parent"}});
  (void)router.relation(table.describe());
  for (const std::string_view parent : {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "no trace"}) {
    const auto row = table.insert(
        {"354afe16-939a-4ea8-8e17-8bb0840b6886", "2024-02-29 12:34:56.789123+00", "OrderPlaced", kPayload, parent});
    CHECK(allocations_of_the_second(router, row) == 0);
  }
}

TEST_CASE("routing: messages allocate nothing per event") {
  OutboxRules rules;
  rules.messages = "outbox";
  OutboxRouter router({rules});
  const std::string content =
      R"({"topic":"orders","key":"k","id":"354afe16-939a-4ea8-8e17-8bb0840b6886","type":"OrderPlaced",)"
      R"("headers":{"tenant":"acme"},"payload":{"a":[1,2,3],"text":"0123456789012345678901234567890"}})";
  CHECK(allocations_of_the_second(router, LogicalMessage{true, Lsn{1}, "outbox", content}) == 0);
}

}  // namespace
}  // namespace walrelay::test
