# TLS, logins, rights and secrets, against servers that ask for them.

walrelay_integration_test(security_tests TIMEOUT 240
  SOURCES
    integration/security_kafka.cpp
    integration/security_postgres.cpp
    support/certificates.cpp
    support/outbox_case.cpp
    support/secure_kafka.cpp
  LIBRARIES connector PkgConfig::rdkafka
)
