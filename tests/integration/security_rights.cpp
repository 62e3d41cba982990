// Least privilege: the rights that docs/security.md tells to grant are enough, and what happens without one.

#include <fmt/format.h>

#include "tests/support/catch.h"
#include "tests/support/kafka_acls.h"
#include "tests/support/outbox_case.h"
#include "tests/support/secure_kafka.h"

namespace walrelay::test {
namespace {

TEST_CASE("the Kafka rights that the documentation names are enough, and without WRITE the class is authorization") {
  SecureKafka kafka;
  const auto commands = kafka_acls_commands(read_file(WALRELAY_SOURCE_DIR "/docs/security.md"));
  CHECK(commands.size() == 2);
  for (const auto& command : commands) run_kafka_acls(kafka.broker().address(), command);
  create_topic(kafka.broker().address(), "shop.orders");
  create_topic(kafka.broker().address(), "secret.orders");
  OutboxCase outbox;
  outbox.exec("CREATE TABLE outbox (topic text, payload text)");
  outbox.add_outbox("table = \"public.outbox\"\ntopic = \"{topic}\"\nvalue = \"{payload}\"");
  outbox.set_sink(kafka.login_section(kLimitedUser, kSecurePassword));
  outbox.init();
  outbox.exec("INSERT INTO outbox VALUES ('shop.orders', 'allowed')");
  const auto checked = outbox.run("check", {"--set", "outbox.0.topic=shop.orders"});
  INFO(checked.output << checked.errors);
  CHECK(checked.status == 0);
  const auto result = outbox.run("run", {"--drain"});
  INFO(result.errors);
  REQUIRE(result.status == 0);
  const auto records = TopicReader(kafka.broker().address(), "shop.orders").read_to_end();
  REQUIRE(records.size() == 1);
  CHECK(records[0].value == "allowed");

  run_kafka_acls(kafka.broker().address(),
                 fmt::format("kafka-acls.sh --add --allow-principal User:{} --operation DESCRIBE --topic secret.orders",
                             kLimitedUser));
  outbox.exec("INSERT INTO outbox VALUES ('secret.orders', 'refused')");
  const auto refused = outbox.run("run", {"--drain"});
  INFO(refused.errors);
  CHECK(refused.status == 4);
  CHECK_THAT(refused.errors, ContainsSubstring("authorization") && ContainsSubstring("secret.orders") &&
                                 ContainsSubstring("grant the client WRITE"));
  const auto skipped = outbox.run("run", {"--drain", "--set", "delivery.on_error.authorization=skip"});
  INFO(skipped.errors);
  CHECK(skipped.status == 0);
}

}  // namespace
}  // namespace walrelay::test
