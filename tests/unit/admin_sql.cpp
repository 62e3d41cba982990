#include "connector/postgres/admin_sql.h"

#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

TEST_CASE("a publication sends inserts only, under the roots' names where there are partitions") {
  const std::vector<PublicationTable> tables{{"public.outbox", {}}, {"App.Out,box", {"id", "payload"}}};
  CHECK(
      create_publication_sql("Пуб", tables, false) ==
      R"(CREATE PUBLICATION "Пуб" FOR TABLE "public"."outbox", "App"."Out,box" ("id", "payload") WITH (publish = 'insert'))");
  CHECK(create_publication_sql("p", {}, true) ==
        R"(CREATE PUBLICATION "p" WITH (publish = 'insert', publish_via_partition_root = true))");
}

TEST_CASE("a table is made of a preset's columns") {
  const auto* preset = find_preset("pascal");
  REQUIRE(preset != nullptr);
  const auto sql = create_table_sql("public.OutboxMessages", *preset);
  CHECK_THAT(sql, ContainsSubstring(R"(CREATE TABLE "public"."OutboxMessages" ()"));
  CHECK_THAT(sql, ContainsSubstring(R"("Payload" )"));
}

TEST_CASE("a role gets no more than it needs to stream") {
  CHECK(create_role_sql("relay@x") == R"(CREATE ROLE "relay@x" LOGIN REPLICATION)");
  CHECK(grant_connect_sql("relay", "Shop") == R"(GRANT CONNECT ON DATABASE "Shop" TO "relay")");
}

}  // namespace
}  // namespace walrelay::test
