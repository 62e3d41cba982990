#include "tests/support/secure_kafka.h"

#include <fmt/format.h>

#include <stdexcept>

namespace walrelay::test {
namespace {

// Kafka's form of a PEM key store: key and certificate in one file.
std::string key_store(const TempDir& directory, const CertificateAuthority& authority, const std::string& name) {
  const auto made = authority.sign(name);
  write_file(directory.file(name + ".pem"), read_file(made.key) + read_file(made.file));
  return directory.file(name + ".pem");
}

ServerSettings settings(const TempDir& directory, const CertificateAuthority& authority) {
  const std::string plain =
      fmt::format("org.apache.kafka.common.security.plain.PlainLoginModule required user_{}=\"{}\" user_{}=\"{}\";",
                  kSecureUser, kSecurePassword, kLimitedUser, kSecurePassword);
  const std::string scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;";
  return {
      {"listener.security.protocol.map",
       "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,TLS:SSL,ELSEWHERE:SSL,LOGIN:SASL_SSL,OPENLOGIN:SASL_PLAINTEXT"},
      {"ssl.keystore.type", "PEM"},
      {"ssl.keystore.location", key_store(directory, authority, "127.0.0.1")},
      {"ssl.truststore.type", "PEM"},
      {"ssl.truststore.location", authority.root()},
      {"listener.name.tls.ssl.client.auth", "requested"},
      {"listener.name.elsewhere.ssl.keystore.type", "PEM"},
      {"listener.name.elsewhere.ssl.keystore.location", key_store(directory, authority, "elsewhere.example")},
      {"sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-512"},
      {"listener.name.login.plain.sasl.jaas.config", plain},
      {"listener.name.login.scram-sha-512.sasl.jaas.config", scram},
      {"listener.name.openlogin.plain.sasl.jaas.config", plain},
      {"listener.name.openlogin.scram-sha-512.sasl.jaas.config", scram},
      {"authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"},
      {"super.users", fmt::format("User:ANONYMOUS;User:{}", kSecureUser)},
  };
}

std::string quoted_line(const std::string& name, const std::string& value) {
  return fmt::format("\"{}\" = \"{}\"\n", name, value);
}

}  // namespace

SecureKafka::SecureKafka() : broker_(settings(directory_, authority_), {"TLS", "ELSEWHERE", "LOGIN", "OPENLOGIN"}) {}

void SecureKafka::add_scram_user() {
  const auto result =
      run_command("java",
                  {"-XX:TieredStopAtLevel=1", "-cp", kafka_jars() + "/*", "kafka.admin.ConfigCommand",
                   "--bootstrap-server", broker_.address(), "--alter", "--entity-type", "users", "--entity-name",
                   kSecureUser, "--add-config", fmt::format("SCRAM-SHA-512=[password={}]", kSecurePassword)},
                  {}, std::chrono::seconds(60));
  if (result.status != 0) throw std::runtime_error("ConfigCommand: " + result.output + result.errors);
}

std::string SecureKafka::trust() const { return quoted_line("ssl.ca.location", authority_.root()); }

std::string SecureKafka::tls_section(const std::string& address, const std::string& more) const {
  return "[sink.kafka]\n" + quoted_line("bootstrap.servers", address) + quoted_line("security.protocol", "SSL") + more;
}

std::string SecureKafka::login_section(const std::string& user, const std::string& password,
                                       const std::string& mechanism) const {
  return "[sink.kafka]\n" + quoted_line("bootstrap.servers", login()) + quoted_line("security.protocol", "SASL_SSL") +
         trust() + quoted_line("sasl.mechanisms", mechanism) + quoted_line("sasl.username", user) +
         quoted_line("sasl.password", password);
}

}  // namespace walrelay::test
