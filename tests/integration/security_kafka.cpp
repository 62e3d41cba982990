// Kafka with TLS, logins and rights: what is delivered, and what is said where it is not.

#include <fmt/format.h>

#include "sinks/kafka_options.h"
#include "tests/support/catch.h"
#include "tests/support/outbox_case.h"
#include "tests/support/secure_kafka.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

// An outbox whose events go to a topic of a broker that this test has for itself.
class SecureOutbox : public OutboxCase {
 public:
  SecureOutbox() {
    exec("CREATE TABLE outbox (payload text)");
    add_outbox(fmt::format("table = \"public.outbox\"\ntopic = \"{}\"\nvalue = \"{{payload}}\"", name()));
  }

  // Whether a row comes through with this [sink.kafka].
  void check_delivered(KafkaBroker& broker, const std::string& section) {
    set_sink(section);
    exec(fmt::format("INSERT INTO outbox VALUES ('{}')", ++sent_));
    const auto result = run("run", {"--drain"});
    INFO(section << result.errors);
    CHECK(result.status == 0);
    const auto records = TopicReader(broker.address(), name()).read_to_end();
    REQUIRE(records.size() == sent_);
    CHECK(records.back().value == std::to_string(sent_));
    CHECK(check_says(section).status == 0);
  }

  CommandResult check_says(const std::string& section) {
    set_sink(section);
    return run("check");
  }

 private:
  std::size_t sent_ = 0;
};

// The reasons that a running relay gives on /readyz once they contain `part`.
std::string unready(RelayProcess& relay, const std::string& part) {
  std::string body;
  static_cast<void>(wait_until(seconds(30), [&] {
    body = relay.get("/readyz").body;
    return body.find(part) != std::string::npos || !relay.process().running();
  }));
  return body;
}

TEST_CASE("events are delivered over TLS and after a login by SASL/PLAIN, with and without TLS") {
  SecureKafka kafka;
  SecureOutbox outbox;
  outbox.init();
  outbox.check_delivered(kafka.broker(), kafka.tls_section(kafka.tls(), kafka.trust()));
  outbox.check_delivered(kafka.broker(), kafka.login_section(kSecureUser, kSecurePassword));
  auto in_clear = kafka.login_section(kSecureUser, kSecurePassword);
  in_clear.replace(in_clear.find(kafka.login()), kafka.login().size(), kafka.login_in_clear());
  in_clear.replace(in_clear.find("SASL_SSL"), std::string("SASL_SSL").size(), "SASL_PLAINTEXT");
  outbox.check_delivered(kafka.broker(), in_clear);
}

TEST_CASE("a refused login, an unknown authority and a wrong name are told by check and run, and waited for") {
  SecureKafka kafka;
  const CertificateAuthority stranger;
  SecureOutbox outbox;
  outbox.init();
  struct Case {
    std::string section;
    std::vector<std::string> said;
  };
  const std::string stranger_line = fmt::format("\"ssl.ca.location\" = \"{}\"\n", stranger.root());
  const std::vector<Case> cases = {
      {kafka.login_section(kSecureUser, "wrong"),
       {kafka.login(), "SASL/PLAIN, user relay", "Invalid username or password", "sasl.password"}},
      {kafka.tls_section(kafka.tls(), stranger_line), {kafka.tls(), "certificate", "ssl.ca.location"}},
      {kafka.tls_section(kafka.tls_of_another_name(), kafka.trust()),
       {kafka.tls_of_another_name(), "certificate verify failed", "ssl.ca.location"}},
  };
  for (const auto& [section, said] : cases) {
    const auto checked = outbox.check_says(section);
    INFO(checked.output << checked.errors);
    CHECK(checked.status == 1);
    for (const auto& part : said) CHECK_THAT(checked.output, ContainsSubstring(part));

    outbox.exec("INSERT INTO outbox VALUES ('waits')");
    RelayProcess relay(outbox.configuration());
    const auto reasons = unready(relay, said[1]);
    INFO(reasons << relay.log());
    CHECK_THAT(reasons, ContainsSubstring(said[0]) && ContainsSubstring(said[1]));
    CHECK(relay.process().running());
    CHECK(relay.get("/healthz").status == 200);
    CHECK_FALSE(outbox.confirmed_reaches(outbox.wal_position()));
  }
}

TEST_CASE("SASL/SCRAM delivers, or an old librdkafka says at the start and at the failed login why it cannot") {
  SecureKafka kafka;
  kafka.add_scram_user();
  SecureOutbox outbox;
  outbox.init();
  const auto section = kafka.login_section(kSecureUser, kSecurePassword, "SCRAM-SHA-512");
  const auto remark = scram_remark({{"sasl.mechanisms", "SCRAM-SHA-512"}});
  if (remark.empty()) return outbox.check_delivered(kafka.broker(), section);

  const auto checked = outbox.check_says(section);
  INFO(checked.output << checked.errors);
  CHECK(checked.status == 1);
  CHECK_THAT(checked.output, ContainsSubstring(remark) && ContainsSubstring("SCRAM-SHA-512"));
  outbox.exec("INSERT INTO outbox VALUES ('waits')");
  RelayProcess relay(outbox.configuration());
  const auto reasons = unready(relay, "SCRAM");
  INFO(reasons << relay.log());
  CHECK_THAT(reasons, ContainsSubstring("invalid credentials") && ContainsSubstring(remark));
  const auto warning = relay.log().find(remark);
  REQUIRE(warning != std::string::npos);
  CHECK(warning < relay.log().find("invalid credentials"));
}

}  // namespace
}  // namespace walrelay::test
