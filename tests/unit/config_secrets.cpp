// Passwords: where they come from, and that they are shown nowhere. The marker is "hunter2".

#include <cstdlib>
#include <filesystem>

#include "connector/commands/command_line.h"
#include "connector/config/config_print.h"
#include "connector/config/dsn.h"
#include "connector/config/load_config.h"
#include "tests/support/catch.h"
#include "tests/support/config_text.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {
namespace {

bool shows_secret(const std::string& text) { return text.find("hunter2") != std::string::npos; }

std::string toml_of_dsn(const std::string& dsn) { return "[postgres]\ndsn = " + toml_string(dsn) + "\n"; }

}  // namespace

TEST_CASE("${NAME} is an environment variable, ${file:...} a file without its last line break") {
  const TempDir dir;
  write_file(dir.path() / "secret", "hunter2\n");
  write_file(dir.path() / "dos", "hunter2\r\n");
  write_file(dir.path() / "two", "hunter2\n\n");
  ::setenv("WALRELAY_TEST_NAME", "shop", 1);
  const auto slot = [](const std::string& text) {
    return config_of("[postgres]\nslot = '" + text + "'\n").postgres.slot;
  };
  CHECK(slot("${WALRELAY_TEST_NAME}") == "shop");
  CHECK(slot("a_${WALRELAY_TEST_NAME}_${WALRELAY_TEST_NAME}") == "a_shop_shop");
  CHECK(slot("${file:" + dir.file("secret") + "}") == "hunter2");
  CHECK(slot("${file:" + dir.file("dos") + "}") == "hunter2");
  CHECK(config_of("[sink.file]\npath = '${file:" + dir.file("two") + "}'\n").sink.file_path == "hunter2\n");
}

TEST_CASE("a connection string is had again with what its files hold now, and as it was if they cannot be used") {
  const TempDir dir;
  write_file(dir.path() / "secret", "hunter2");
  const auto options =
      config_of("[postgres]\ndsn = 'dbname=shop password=${file:" + dir.file("secret") + "}'\n").postgres;
  CHECK(options.dsn == "dbname=shop password=hunter2");
  write_file(dir.path() / "secret", "hunter3\n");
  CHECK(reread_secrets(options).dsn == "dbname=shop password=hunter3");
  write_file(dir.path() / "secret", "not one word");
  CHECK(reread_secrets(options).dsn == options.dsn);
  std::filesystem::remove(dir.path() / "secret");
  CHECK(reread_secrets(options).dsn == options.dsn);
  CHECK(reread_secrets(options).query_dsn.empty());
}

TEST_CASE("numbers can come from the environment too") {
  ::setenv("WALRELAY_TEST_COUNT", "42", 1);
  CHECK(config_of("[delivery]\nmax_in_flight = '${WALRELAY_TEST_COUNT}'\n").delivery.max_in_flight == 42);
}

TEST_CASE("what a reference gives is not looked through again") {
  ::setenv("WALRELAY_TEST_NESTED", "${HOME}", 1);
  CHECK(config_of("[sink.file]\npath = '${WALRELAY_TEST_NESTED}'\n").sink.file_path == "${HOME}");
}

TEST_CASE("a reference to nothing is refused, naming the key") {
  ::unsetenv("WALRELAY_TEST_ABSENT");
  CHECK_THAT(
      refusal_of("[postgres]\nslot = '${WALRELAY_TEST_ABSENT}'\n"),
      ContainsSubstring("relay.toml:2:8: postgres.slot: the environment variable WALRELAY_TEST_ABSENT is not set"));
  CHECK_THAT(refusal_of("[postgres]\nslot = '${file:/nonexistent/x}'\n"),
             ContainsSubstring("postgres.slot: ${file:/nonexistent/x} cannot be read: No such file"));
  CHECK_THAT(refusal_of("[postgres]\nslot = '${file:/tmp}'\n"),
             ContainsSubstring("postgres.slot: ${file:/tmp} cannot be read"));
  CHECK_THAT(refusal_of("[postgres]\nslot = '${UNCLOSED'\n"),
             ContainsSubstring("postgres.slot: a ${ has no closing }"));
  CHECK_THAT(refusal_of("[sink.file]\npath = '${file:/dev/zero}'\n"), ContainsSubstring("larger than 1 MiB"));
}

TEST_CASE("the password of a connection string is masked in either form") {
  for (const auto* dsn :
       {"host=db user=u password=hunter2", "postgresql://u:hunter2@db/shop", "postgres://u@db/shop?password=hunter2",
        "host=db password='hunter2 \\' x'", "postgresql://u:%68unter2@db", "host=db sslpassword=hunter2"}) {
    CAPTURE(dsn);
    const std::string printed = print_config(config_of(toml_of_dsn(dsn)));
    CHECK_FALSE(shows_secret(printed));
    CHECK_THAT(printed, ContainsSubstring("***"));
    CHECK_THAT(printed, ContainsSubstring("host=db"));
    CHECK(print_config(config_of(printed)) == printed);
  }
}

TEST_CASE("query_dsn is masked like dsn") {
  CHECK_FALSE(shows_secret(print_config(config_of("[postgres]\nquery_dsn = 'host=db password=hunter2'\n"))));
}

TEST_CASE("what is not a password stays readable") {
  CHECK(masked_conninfo("postgresql://u:x@db:5433/shop?sslmode=require") ==
        "user=u password=*** dbname=shop host=db port=5433 sslmode=require");
  CHECK(masked_conninfo("dbname='my shop'") == "dbname='my shop'");
}

TEST_CASE("secret properties of librdkafka are masked") {
  const std::string printed = print_config(config_of(
      "[sink.kafka]\n'sasl.username' = 'relay'\n'sasl.password' = 'hunter2'\n'ssl.key.password' = 'hunter2'\n"));
  CHECK_FALSE(shows_secret(printed));
  CHECK_THAT(printed, ContainsSubstring("relay"));
}

TEST_CASE("a connection string that libpq refuses is not repeated") {
  for (const auto* dsn : {"hunter2", "host=db password=my hunter2", "host=db password='hunter2",
                          "postgresql://u:hunter2%zz@db", "postgresql://u:hunter2%00@db", "postgresql://[hunter2",
                          "host=db hunter2=x", "postgresql://u@db/x?hunter2=1", "postgresql://u@db/x?password"}) {
    CAPTURE(dsn);
    const std::string line = refusal_of(toml_of_dsn(dsn));
    CHECK_FALSE(shows_secret(line));
    CHECK_THAT(line, ContainsSubstring("relay.toml:2:7: postgres.dsn: "));
    CHECK(line.find('\n') == std::string::npos);
  }
}

TEST_CASE("a mistyped connection parameter is answered with the nearest one") {
  CHECK_THAT(refusal_of(toml_of_dsn("hots=db")), ContainsSubstring("did you mean host?"));
  CHECK_THAT(refusal_of(toml_of_dsn("postgresql://db/x?ssl_mode=require")), ContainsSubstring("did you mean sslmode?"));
}

TEST_CASE("the values of flags that may hold secrets are overwritten for ps") {
  std::vector<std::string> words = {"run",
                                    "--dsn",
                                    "host=db password=hunter2",
                                    "--dsn=hunter2",
                                    "-X",
                                    "sasl.password=hunter2",
                                    "--set",
                                    "postgres.dsn=hunter2",
                                    "--set=postgres.dsn=hunter2",
                                    "-Xsasl.password=hunter2",
                                    "--table",
                                    "public.outbox",
                                    "--set",
                                    "http.listen=127.0.0.1:9465",
                                    "-Xlinger.ms=5",
                                    "--set=sink.kafka.ssl.key.password=hunter2",
                                    "--set",
                                    "sink.kafak.sasl.pass=hunter2"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  hide_secrets(arguments);
  for (const std::string& word : words) CHECK_FALSE(shows_secret(word));
  CHECK(words[5] == "sasl.password=*******");
  CHECK(words[8] == "--set=postgres.dsn=*******");
  CHECK(words[11] == "public.outbox");
  CHECK(words[13] == "http.listen=127.0.0.1:9465");
  CHECK(words[14] == "-Xlinger.ms=5");
}

}  // namespace walrelay::test
