# TLS, logins, rights and secrets, against servers that ask for them.

walrelay_integration_test(security_tests TIMEOUT 240
  SOURCES
    integration/security_kafka.cpp
    integration/security_postgres.cpp
    integration/security_rights.cpp
    integration/security_secrets.cpp
    support/certificates.cpp
    support/kafka_acls.cpp
    support/outbox_case.cpp
    support/secure_kafka.cpp
  LIBRARIES connector PkgConfig::rdkafka
)
target_compile_definitions(security_tests PRIVATE WALRELAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
