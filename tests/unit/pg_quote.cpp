#include "connector/postgres/pg_quote.h"

#include <stdexcept>
#include <vector>

#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

TEST_CASE("an identifier keeps its case and its quotes") {
  CHECK(quote_identifier("Outbox_Pub") == R"("Outbox_Pub")");
  CHECK(quote_identifier("Пуб \"x\"") == R"("Пуб ""x""")");
  CHECK(quote_identifier("select") == R"("select")");
  CHECK(quote_identifier("a\\b'c") == R"("a\b'c")");
}

TEST_CASE("a literal means the same whatever standard_conforming_strings says") {
  CHECK(quote_literal("it's") == "'it''s'");
  CHECK(quote_literal("a\\b'c") == R"(E'a\\b''c')");
  CHECK(quote_literal("") == "''");
}

TEST_CASE("a replication command's literal knows no backslash escapes") {
  CHECK(quote_replication_literal("a\\b'c") == R"('a\b''c')");
}

TEST_CASE("publication names are a literal that holds a list of quoted identifiers") {
  const std::vector<std::string> names{"Outbox_Pub", "Пуб \"x\"", "a,b", "it's"};
  CHECK(quote_publication_names(names) == R"('"Outbox_Pub","Пуб ""x""","a,b","it''s"')");
  CHECK(quote_publication_name("pub-1") == R"('"pub-1"')");
}

TEST_CASE("a table's name is split at its first dot and quoted in parts") {
  CHECK(quote_table("public.OutboxMessages") == R"("public"."OutboxMessages")");
  CHECK(quote_table("app.a.b") == R"("app"."a.b")");
  CHECK(quote_table("outbox") == R"("public"."outbox")");
}

TEST_CASE("a zero byte is refused instead of cutting the name off") {
  CHECK_THROWS_AS(quote_identifier(std::string_view("a\0b", 3)), std::invalid_argument);
  CHECK_THROWS_AS(quote_literal(std::string_view("a\0b", 3)), std::invalid_argument);
}

}  // namespace
}  // namespace walrelay::test
