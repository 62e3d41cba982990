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

if(WALRELAY_HARDENING AND NOT WALRELAY_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL Debug)
  add_test(NAME "integration: the program is built with the defences that are documented"
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/support/hardened $<TARGET_FILE:walrelay>)
  set_tests_properties("integration: the program is built with the defences that are documented"
                       PROPERTIES LABELS integration TIMEOUT 60)
endif()
