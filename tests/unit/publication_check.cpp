#include "connector/commands/publication_check.h"

#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

TableInfo table(const std::string& name) {
  TableInfo facts;
  facts.schema = "public";
  facts.name = name;
  return facts;
}

PublicationInfo publishing(std::initializer_list<std::string> names) {
  PublicationInfo facts;
  facts.inserts = true;
  for (const auto& name : names) facts.tables.push_back({"public", name, {}, ""});
  return facts;
}

ServerInfo server_of(const std::string& database) {
  ServerInfo server;
  server.database = database;
  return server;
}

TEST_CASE("a table that is published has no problem, another has the statement that adds it") {
  CHECK(coverage_problems("p", publishing({"outbox"}), table("outbox")).empty());
  const auto problems = coverage_problems("Pub", publishing({"other"}), table("Outbox"));
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].remedy == R"(ALTER PUBLICATION "Pub" ADD TABLE "public"."Outbox";)");
}

TEST_CASE("a partitioned table is published by its leaves, all of them") {
  auto root = table("outbox");
  root.kind = 'p';
  root.leaves = {"public.o1", "public.o2"};
  CHECK(coverage_problems("p", publishing({"o1", "o2"}), root).empty());
  const auto problems = coverage_problems("p", publishing({"o1"}), root);
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems[0].what, ContainsSubstring("lacks partitions of \"public.outbox\": public.o2"));
}

TEST_CASE("a partitioned table without partitions is published if it was added") {
  auto root = table("outbox");
  root.kind = 'p';
  auto publication = publishing({});
  CHECK(coverage_problems("p", publication, root).size() == 1);
  publication.members = {"public.outbox"};
  CHECK(coverage_problems("p", publication, root).empty());
}

TEST_CASE("a publication that would go on publishing a detached partition is a problem") {
  auto root = table("outbox");
  root.kind = 'p';
  root.leaves = {"public.o1", "public.o2"};
  auto publication = publishing({"o1", "o2"});
  publication.members = {"public.outbox"};
  CHECK_FALSE(detachment_problem("p", publication, root));
  const auto remedy = [&] { return detachment_problem("Pub", publication, root).value().remedy; };
  SECTION("of all tables, or of a schema") {
    publication.members.clear();
    CHECK(remedy() == R"(ALTER PUBLICATION "Pub" SET (publish_via_partition_root = true);)");
  }
  SECTION("of the partitions one by one, by whatever name their rows come") {
    publication.members = {"public.o1", "public.o2"};
    publication.via_root = GENERATE(false, true);
    CHECK(remedy() == R"(BEGIN; ALTER PUBLICATION "Pub" DROP TABLE "public"."o1", "public"."o2"; )"
                      R"(ALTER PUBLICATION "Pub" ADD TABLE "public"."outbox"; COMMIT;)");
  }
  SECTION("of both") {
    publication.members = {"public.outbox", "public.o2"};
    CHECK(remedy() == R"(BEGIN; ALTER PUBLICATION "Pub" DROP TABLE "public"."o2"; COMMIT;)");
  }
  CHECK_FALSE(detachment_problem("Pub", publishing({"outbox"}), root));
}

TEST_CASE("a partition whose rows come under its root's name is told to be configured by that") {
  auto leaf = table("o1");
  leaf.ancestors = {"public.outbox"};
  auto publication = publishing({"outbox"});
  publication.via_root = true;
  const auto problems = coverage_problems("p", publication, leaf);
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems[0].remedy, ContainsSubstring("\"public.outbox\""));
}

TEST_CASE("a row filter and a column list that lacks a mapped column are problems") {
  auto publication = publishing({"outbox"});
  publication.tables[0].row_filter = "(id > 5)";
  publication.tables[0].column_list = {"id", "type"};
  CHECK_THAT(coverage_problems("p", publication, table("outbox")).at(0).what, ContainsSubstring("(id > 5)"));
  const auto lacking = column_list_problems("p", publication, table("outbox"), {"id", "payload"});
  REQUIRE(lacking.size() == 1);
  CHECK_THAT(lacking[0].what, ContainsSubstring("payload"));
  CHECK(column_list_problems("p", publication, table("outbox"), {"id", "type"}).empty());
}

TEST_CASE("a copy of a slot is of no use on a standby, and of use once that is promoted") {
  SlotInfo slot;
  slot.name = "s";
  slot.type = "logical";
  slot.plugin = "pgoutput";
  slot.database = "shop";
  slot.synced = true;
  auto server = server_of("shop");
  CHECK(slot_problems(slot, server).empty());
  server.in_recovery = true;
  CHECK_THAT(slot_problems(slot, server).at(0).remedy, ContainsSubstring("promote"));
}

TEST_CASE("only a permanent, logical slot of pgoutput in this database that is not lost is of use") {
  SlotInfo slot;
  slot.name = "s";
  slot.type = "logical";
  slot.plugin = "pgoutput";
  slot.database = "shop";
  CHECK(slot_problems(slot, server_of("shop")).empty());
  CHECK_THAT(slot_problems(slot, server_of("other")).at(0).what, ContainsSubstring("belongs to database \"shop\""));
  auto other = slot;
  other.plugin = "wal2json";
  CHECK_THAT(slot_problems(other, server_of("shop")).at(0).what, ContainsSubstring("wal2json"));
  other = slot;
  other.type = "physical";
  CHECK(slot_problems(other, server_of("shop")).size() == 1);
  other = slot;
  other.wal_status = "lost";
  CHECK_THAT(slot_problems(other, server_of("shop")).at(0).remedy, ContainsSubstring("walrelay recover"));
  other = slot;
  other.temporary = true;
  CHECK(slot_problems(other, server_of("shop")).size() == 1);
}

TEST_CASE("an unlogged table and a view cannot be relayed") {
  auto facts = table("outbox");
  CHECK(table_problems(facts).empty());
  facts.persistence = 'u';
  CHECK_THAT(table_problems(facts).at(0).remedy, ContainsSubstring("SET LOGGED"));
  facts = table("v");
  facts.kind = 'v';
  CHECK(table_problems(facts).size() == 1);
}

}  // namespace
}  // namespace walrelay::test
