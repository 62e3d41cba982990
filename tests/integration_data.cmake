# What arrives in Kafka of what was written to PostgreSQL.

walrelay_integration_test(data_tests TIMEOUT 120
  SOURCES
    integration/commits.cpp
    integration/message_outbox.cpp
    integration/payload_types.cpp
    integration/presets.cpp
    integration/table_shapes.cpp
    support/outbox_case.cpp
  LIBRARIES connector PkgConfig::rdkafka
)
