#include <chrono>

#include "connector/postgres/conninfo.h"
#include "connector/postgres/pg_connection.h"
#include "tests/support/catch.h"
#include "tests/support/scoped_environment.h"

namespace walrelay::test {
namespace {

using std::chrono::seconds;

std::string refusal_of(const std::string& dsn) {
  try {
    (void)replication_conninfo(dsn, "s");
  } catch (const PgError& error) {
    CHECK(error.trouble() == PgTrouble::permanent);
    return error.message();
  }
  return "";
}

TEST_CASE("string and URI resolve to the same target") {
  const auto expected = "host=db.example port=6432 dbname=shop user=relay@x";
  CHECK(query_conninfo("host=db.example port=6432 dbname=shop user=relay@x password=x", "s").target().to_string() ==
        expected);
  CHECK(query_conninfo("postgresql://relay%40x:x@db.example:6432/shop", "s").target().to_string() == expected);
}

TEST_CASE("an IPv6 address, a socket's directory and a bare database name are taken") {
  CHECK(query_conninfo("postgresql://relay@[::1]:5433/shop", "s").target().to_string() ==
        "host=::1 port=5433 dbname=shop user=relay");
  CHECK(query_conninfo("host=/run/postgresql dbname=shop", "s").target().host == "/run/postgresql");
  CHECK(query_conninfo("host=@abstract dbname=shop", "s").target().host == "@abstract");
  CHECK(query_conninfo("shop", "s").target().database == "shop");
}

TEST_CASE("the environment fills what the string leaves out") {
  const ScopedEnvironment host("PGHOST", "env.example");
  const ScopedEnvironment user("PGUSER", "env_user");
  CHECK(query_conninfo("dbname=shop", "s").target().to_string() ==
        "host=env.example port=5432 dbname=shop user=env_user");
  CHECK(query_conninfo("", "s").target().host == "env.example");
}

TEST_CASE("a service that is not known is refused by its name") {
  CHECK_THAT(refusal_of("service=walrelay_no_such_service"), ContainsSubstring("walrelay_no_such_service"));
}

TEST_CASE("a broken connection string is refused without showing it") {
  for (const char* dsn :
       {"host=db password=se cret extra", "postgresql://relay:se%ZZcret@db/shop", "postgresql://relay:secret@x@db/shop",
        "password=secret nonsense=1", "host='db password=secret"}) {
    CAPTURE(dsn);
    const auto text = refusal_of(dsn);
    CHECK_THAT(text, ContainsSubstring("postgres.dsn"));
    CHECK(text.find("cret") == std::string::npos);
  }
}

TEST_CASE("every host of a list gets its share of the time") {
  CHECK(query_conninfo("host=a", "s").connect_timeout() < seconds(10));
  CHECK(query_conninfo("host=a,b,c connect_timeout=4", "s").connect_timeout() == seconds(12));
}

TEST_CASE("nobody listening is one line that names the target, without the password") {
  const auto conninfo = query_conninfo("host=127.0.0.1 port=1 dbname=shop user=relay password=p@:/?#[]", "s");
  try {
    PgConnection connection(conninfo);
    FAIL("connected to port 1");
  } catch (const PgError& error) {
    CHECK(error.trouble() == PgTrouble::retryable);
    CHECK_THAT(error.message(), ContainsSubstring("host=127.0.0.1 port=1 dbname=shop user=relay"));
    CHECK(error.message().find('\n') == std::string::npos);
    CHECK(error.message().find("p@:") == std::string::npos);
  }
}

TEST_CASE("line breaks and runs of spaces become one space") { CHECK(one_line(" a\n\tb  c \n") == "a b c"); }

}  // namespace
}  // namespace walrelay::test
