#include "connector/commands/config_proposal.h"

#include "decoder/presets.h"
#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

OutboxRules standard(const std::string& table) {
  OutboxRules rules;
  rules.table = table;
  rules.preset = "standard";
  return rules;
}

TEST_CASE("a proposal repeats only what differs from the preset") {
  auto rules = standard("public.outbox");
  rules.topic = "orders.{type}";
  fill_from_preset(rules);
  Config config;
  config.postgres.dsn = "host=db dbname=shop";
  const auto text = propose_config(config, std::vector{rules}, "");
  CHECK_THAT(text, ContainsSubstring("dsn = \"dbname=shop host=db\""));
  CHECK_THAT(text, ContainsSubstring("preset = \"standard\"\ntopic = \"orders.{type}\"\n"));
  CHECK(text.find("value =") == std::string::npos);
}

TEST_CASE("no secret is in a proposal, and the relay's role replaces the administrator") {
  Config config;
  config.postgres.dsn = "postgresql://admin:s%40cret@db/shop";
  config.sink.kafka = {{"bootstrap.servers", "broker:9092"}, {"sasl.password", "s@cret"}};
  const auto text = propose_config(config, {}, "re lay");
  CHECK(text.find("cret\"") == std::string::npos);
  CHECK(text.find("s@cret") == std::string::npos);
  CHECK(text.find("admin") == std::string::npos);
  CHECK_THAT(text, ContainsSubstring("user='re lay'"));
  CHECK_THAT(text, ContainsSubstring("\"bootstrap.servers\" = \"broker:9092\""));
}

TEST_CASE("quotes, backslashes and ${ in names stay what they are") {
  auto rules = standard("public.a\"b\\c");
  rules.key = "${literal}";
  fill_from_preset(rules);
  const auto text = propose_config(Config{}, std::vector{rules}, "");
  CHECK_THAT(text, ContainsSubstring(R"(table = "public.a\"b\\c")"));
  CHECK_THAT(text, ContainsSubstring(R"(key = "$${literal}")"));
}

}  // namespace
}  // namespace walrelay::test
