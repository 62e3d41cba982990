#pragma once
// A Kafka that has TLS, logins and rights.

#include <string>

#include "tests/support/certificates.h"
#include "tests/support/kafka_broker.h"

namespace walrelay::test {

// Users and their password, the same by PLAIN and SCRAM-SHA-512. Who comes without a login may do everything, too.
inline constexpr const char* kSecureUser = "relay";      // may do everything
inline constexpr const char* kLimitedUser = "walrelay";  // may do what run_kafka_acls() gave
inline constexpr const char* kSecurePassword = "S3cretKafkaLogin";

class SecureKafka {
 public:
  SecureKafka();

  [[nodiscard]] KafkaBroker& broker() { return broker_; }
  [[nodiscard]] const CertificateAuthority& authority() const { return authority_; }

  // Addresses, by what is asked of clients.
  [[nodiscard]] std::string tls() const { return broker_.address("TLS"); }
  [[nodiscard]] std::string tls_of_another_name() const { return broker_.address("ELSEWHERE"); }
  [[nodiscard]] std::string login() const { return broker_.address("LOGIN"); }  // over TLS
  [[nodiscard]] std::string login_in_clear() const { return broker_.address("OPENLOGIN"); }

  // Makes the SCRAM-SHA-512 credentials of kSecureUser. Takes some seconds.
  void add_scram_user();

  // [sink.kafka] for one of the addresses; `more`: further lines.
  [[nodiscard]] std::string tls_section(const std::string& address, const std::string& more = "") const;
  [[nodiscard]] std::string login_section(const std::string& user, const std::string& password,
                                          const std::string& mechanism = "PLAIN") const;
  [[nodiscard]] std::string trust() const;  // the line that names the authority

 private:
  CertificateAuthority authority_;
  TempDir directory_;
  KafkaBroker broker_;
};

}  // namespace walrelay::test
