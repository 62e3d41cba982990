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
  const auto text = propose_config(config, std::vector<OutboxProposal>{{rules, {}}}, "");
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
  const auto text = propose_config(Config{}, std::vector<OutboxProposal>{{rules, {}}}, "");
  CHECK_THAT(text, ContainsSubstring(R"(table = "public.a\"b\\c")"));
  CHECK_THAT(text, ContainsSubstring(R"(key = "$${literal}")"));
}

TEST_CASE("a proposal keeps what the given configuration says of delivery, HTTP and the log, and not the defaults") {
  Config config;
  config.delivery.max_in_flight = 500;
  config.delivery.on_error_by_class[FailureClass::too_large] = OnError::dead_letter;
  config.http.listen = "127.0.0.1:9465";
  config.log.format = LogFormat::json;
  const auto text = propose_config(config, {}, "");
  CHECK_THAT(text, ContainsSubstring("\n[delivery]\non_error = { default = \"halt\", too-large = \"dead-letter\" }\n"
                                     "max_in_flight = 500\n\n[http]\nlisten = \"127.0.0.1:9465\"\n\n[log]\nformat = "
                                     "\"json\"\n"));
  CHECK(propose_config(Config{}, {}, "").find("[delivery]") == std::string::npos);
}

TEST_CASE("columns that polling workers mark rows in are proposed as comments, and those that are named are not") {
  OutboxRules rules;
  rules.table = "public.OutboxMessages";
  rules.preset = "pascal";
  fill_from_preset(rules);
  const std::vector<ColumnInfo> columns = {{"Id", "uuid"},
                                           {"ProcessedAt", "timestamp with time zone"},
                                           {"RetryCount", "integer"},
                                           {"error", "bytea"}};  // no text to write there
  auto text = propose_config(Config{}, std::vector<OutboxProposal>{{rules, columns}}, "");
  CHECK_THAT(text, ContainsSubstring(":\n# processed_at = \"ProcessedAt\"\n# attempts = \"RetryCount\"\n"));
  CHECK(text.find("# error") == std::string::npos);
  rules.processed_at = "ProcessedAt";
  text = propose_config(Config{}, std::vector<OutboxProposal>{{rules, columns}}, "");
  CHECK_THAT(text, ContainsSubstring("\nprocessed_at = \"ProcessedAt\"\n# To"));
  rules.id = "{Id}-{Type}";  // by which no row can be found
  text = propose_config(Config{}, std::vector<OutboxProposal>{{rules, columns}}, "");
  CHECK(text.find("# attempts") == std::string::npos);
}

}  // namespace
}  // namespace walrelay::test
