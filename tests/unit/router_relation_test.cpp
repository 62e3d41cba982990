// How tables find their outbox, and what changes of the schema do to it.
#include <string>
#include <string_view>

#include "tests/support/catch.h"
#include "tests/unit/router_fixture.h"

namespace walrelay::test {
namespace {

OutboxRules keyed_rules(std::string table = "public.outbox") {
  auto rules = plain_rules(std::move(table));
  rules.key = "{k}";
  return rules;
}

TEST_CASE("router: columns are found by name when they are reordered, added and dropped in mid-stream") {
  OutboxRouter router({keyed_rules()});
  TestTable before(kTableId, "public", "outbox", {{"k"}, {"payload"}});
  TestTable after(kTableId, "public", "outbox", {{"new"}, {"payload"}, {"other"}, {"k"}});
  (void)router.relation(before.describe());
  CHECK(router.route(before.insert({"k1", "v1"}), kCommitTime).event.key == "k1");
  CHECK(router.relation(after.describe()) == RelationUse::outbox);
  const auto routed = router.route(after.insert({"n", "v2", kNull, "k2"}), kCommitTime);
  CHECK(routed.event.key == "k2");
  CHECK(routed.event.value == "v2");
}

TEST_CASE("router: a mapped column that disappears makes each row a failure of mapping, until it is back") {
  auto rules = keyed_rules();
  rules.id = "{id}";
  OutboxRouter router({rules});
  TestTable whole(kTableId, "public", "outbox", {{"id"}, {"k"}, {"payload"}});
  TestTable poor(kTableId, "public", "outbox", {{"id"}, {"payload"}});
  (void)router.relation(whole.describe());
  CHECK(router.relation(poor.describe()) == RelationUse::outbox);
  for (const std::string_view id : {"1", "2"}) {
    const auto routed = router.route(poor.insert({id, "v"}), kCommitTime);
    REQUIRE(routed.status == RouteStatus::rejected);
    CHECK(routed.rejection->failure_class == FailureClass::mapping);
    CHECK_THAT(routed.rejection->reason,
               ContainsSubstring("[[outbox]] public.outbox, id " + std::string(id) +
                                 ": key: the table had no column \"k\" when this row was written"));
    CHECK(routed.event.value == "v");
    CHECK(routed.event.topic == "t");
    CHECK(header(routed.event, "id") == id);
  }
  (void)router.relation(whole.describe());
  CHECK(router.route(whole.insert({"3", "k3", "v"}), kCommitTime).status == RouteStatus::event);
}

TEST_CASE("router: an empty table description rejects rows, with or without values") {
  OutboxRouter router({keyed_rules()});
  TestTable empty(kTableId, "public", "outbox", {});
  (void)router.relation(empty.describe());
  CHECK(router.route(empty.insert({}), kCommitTime).status == RouteStatus::rejected);
}

TEST_CASE("router: a column whose type changes to bytea is decoded from then on") {
  OutboxRouter router({plain_rules()});
  TestTable text(kTableId, "public", "outbox", {{"payload"}});
  TestTable bytes(kTableId, "public", "outbox", {{"payload", kByteaType}});
  (void)router.relation(text.describe());
  CHECK(router.route(text.insert({"\\x41"}), kCommitTime).event.value == "\\x41");
  (void)router.relation(bytes.describe());
  CHECK(router.route(bytes.insert({"\\x41"}), kCommitTime).event.value == "A");
}

TEST_CASE("router: identifiers are compared exactly, in any script, and split at the first dot") {
  OutboxRouter router(
      {keyed_rules("public.OutboxMessages"), keyed_rules("Схема.Исходящие.сообщения"), keyed_rules("s.a b\"c")});
  CHECK(router.relation(TestTable(1, "public", "OutboxMessages", {}).describe()) == RelationUse::outbox);
  CHECK(router.relation(TestTable(2, "Схема", "Исходящие.сообщения", {}).describe()) == RelationUse::outbox);
  CHECK(router.relation(TestTable(3, "s", "a b\"c", {}).describe()) == RelationUse::outbox);
  CHECK(router.relation(TestTable(4, "public", "outboxmessages", {}).describe()) == RelationUse::unknown);
  CHECK(router.outbox_of(2) == 1U);
  auto rules = keyed_rules();
  rules.key = "{Größe €}";
  OutboxRouter umlauts({rules});
  TestTable table(kTableId, "public", "outbox", {{"payload"}, {"größe €"}, {"Größe €"}});
  (void)umlauts.relation(table.describe());
  CHECK(umlauts.route(table.insert({"v", "small", "large"}), kCommitTime).event.key == "large");
}

TEST_CASE("router: several outboxes keep their rows apart") {
  OutboxRouter router({keyed_rules("a.outbox"), plain_rules("b.outbox")});
  TestTable a(1, "a", "outbox", {{"k"}, {"payload"}});
  TestTable b(2, "b", "outbox", {{"k"}, {"payload"}});
  (void)router.relation(a.describe());
  (void)router.relation(b.describe());
  CHECK(router.route(a.insert({"k", "v"}), kCommitTime).event.outbox == 0);
  const auto routed = router.route(b.insert({"k", "v"}), kCommitTime);
  CHECK(routed.event.outbox == 1);
  CHECK_FALSE(routed.event.key);
  CHECK(router.outbox_count() == 2);
  CHECK(router.outbox_name(1) == "b.outbox");
}

TEST_CASE("router: a partition is resolved to its root and gives the same event as through the root (case A18)") {
  OutboxRouter router({keyed_rules("public.outbox_p")});
  TestTable root(1, "public", "outbox_p", {{"k"}, {"payload"}});
  TestTable leaf(2, "archive", "outbox_p_2026", {{"payload"}, {"k"}});
  CHECK(router.relation(root.describe()) == RelationUse::outbox);
  CHECK(router.relation(leaf.describe()) == RelationUse::unknown);
  CHECK(router.resolve(2, "public.outbox_p") == RelationUse::outbox);
  const auto routed = router.route(leaf.insert({"v", "k"}), kCommitTime);
  REQUIRE(routed.status == RouteStatus::event);
  CHECK(routed.event.key == "k");
  CHECK(routed.event.value == "v");
  CHECK(routed.event.topic == "t");
  CHECK(router.relation(leaf.describe()) ==
        RelationUse::outbox);  // described again: it needs no second look into the catalog
}

TEST_CASE("router: a partition stays its root's in later sessions, even if the catalog has forgotten that") {
  OutboxRouter router({keyed_rules("public.outbox_p")});
  const TestTable leaf(2, "archive", "outbox_p_2026", {{"payload"}, {"k"}});
  (void)router.relation(leaf.describe());
  (void)router.resolve(2, "public.outbox_p");
  router.reset();
  CHECK(router.relation(leaf.describe()) == RelationUse::outbox);
}

TEST_CASE("router: a table without an outbox is ignored once that is known") {
  OutboxRouter router({keyed_rules()});
  TestTable other(7, "public", "other", {{"x"}});
  CHECK(router.relation(other.describe()) == RelationUse::unknown);
  CHECK(router.resolve(7, std::nullopt) == RelationUse::ignored);
  const auto routed = router.route(other.insert({"1"}), kCommitTime);
  CHECK(routed.status == RouteStatus::ignored);
  CHECK(routed.ignored == IgnoreReason::not_an_outbox);
  CHECK_FALSE(router.outbox_of(7));
  CHECK(router.relation_name(7) == "public.other");
  CHECK(router.resolve(7, "public.not_configured") == RelationUse::ignored);
  CHECK(router.relation(other.describe()) == RelationUse::unknown);  // it may have become a partition meanwhile
}

TEST_CASE("router: rows of a table that nothing is known about are never dropped in silence") {
  OutboxRouter router({keyed_rules()});
  TestTable gone(7, "public", "outbox_2025", {{"x"}});
  (void)router.relation(gone.describe());
  const auto unresolved = router.route(gone.insert({"1"}), kCommitTime);
  REQUIRE(unresolved.status == RouteStatus::rejected);
  CHECK(unresolved.rejection->failure_class == FailureClass::mapping);
  CHECK_THAT(unresolved.rejection->reason,
             ContainsSubstring("public.outbox_2025") && ContainsSubstring("publish_via_partition_root"));
  TestTable undescribed(8, "public", "x", {{"x"}});
  const auto undescribed_row = router.route(undescribed.insert({"1"}), kCommitTime);
  REQUIRE(undescribed_row.status == RouteStatus::rejected);
  CHECK_THAT(undescribed_row.rejection->reason, ContainsSubstring("relation 8 without describing it"));
  CHECK(router.resolve(8, "public.outbox") == RelationUse::unknown);
}

TEST_CASE("router: an outbox that is renamed in mid-stream stays one") {
  OutboxRouter router({keyed_rules()});
  (void)router.relation(TestTable(kTableId, "public", "outbox", {{"k"}, {"payload"}}).describe());
  TestTable renamed(kTableId, "public", "outbox_old", {{"k"}, {"payload"}});
  CHECK(router.relation(renamed.describe()) == RelationUse::outbox);
  CHECK(router.route(renamed.insert({"k", "v"}), kCommitTime).status == RouteStatus::event);
}

TEST_CASE("router: an outbox that was renamed is one in the next session too") {
  OutboxRouter router({keyed_rules()});
  (void)router.relation(TestTable(kTableId, "public", "outbox", {{"k"}, {"payload"}}).describe());
  router.reset();
  TestTable renamed(kTableId, "public", "outbox_old", {{"k"}, {"payload"}});
  CHECK(router.relation(renamed.describe()) == RelationUse::outbox);
  CHECK(router.route(renamed.insert({"k", "v"}), kCommitTime).status == RouteStatus::event);
}

TEST_CASE("router: a new session starts without relations") {
  OutboxRouter router({keyed_rules()});
  TestTable table(kTableId, "public", "outbox", {{"k"}, {"payload"}});
  (void)router.relation(table.describe());
  router.reset();
  CHECK(router.route(table.insert({"k", "v"}), kCommitTime).status == RouteStatus::rejected);
  CHECK(router.relation_name(kTableId).empty());
  CHECK(router.relation(table.describe()) == RelationUse::outbox);
  CHECK(router.route(table.insert({"k", "v"}), kCommitTime).status == RouteStatus::event);
}

TEST_CASE("router: an optional column may be absent, come and go") {
  OutboxRouter router({preset_rules("standard")});
  TestTable without(kTableId, "public", "outbox", {{"id"}, {"occurred_at"}, {"type"}, {"payload"}});
  TestTable with(kTableId, "public", "outbox", {{"id"}, {"occurred_at"}, {"type"}, {"payload"}, {"trace_parent"}});
  (void)router.relation(without.describe());
  const auto plain = router.route(without.insert({"1", "2024-01-01", "A", "{}"}), kCommitTime);
  REQUIRE(plain.status == RouteStatus::event);
  CHECK(header(plain.event, "traceparent") == "(absent)");
  (void)router.relation(with.describe());
  CHECK(header(router.route(with.insert({"1", "2024-01-01", "A", "{}", "00-1"}), kCommitTime).event, "traceparent") ==
        "00-1");
}

}  // namespace
}  // namespace walrelay::test
