# What arrives in Kafka of what was written to PostgreSQL.

walrelay_integration_test(data_tests VERSIONS TIMEOUT 120
  SOURCES
    integration/bad_starts.cpp
    integration/cloud_events.cpp
    integration/commits.cpp
    integration/line_sinks.cpp
    integration/log_lines.cpp
    integration/message_outbox.cpp
    integration/names_and_sessions.cpp
    integration/partitioner.cpp
    integration/payload_types.cpp
    integration/presets.cpp
    integration/restarts.cpp
    integration/schema_changes.cpp
    integration/table_shapes.cpp
    integration/write_back.cpp
    support/mock_cluster.cpp
    support/outbox_case.cpp
  LIBRARIES connector PkgConfig::rdkafka
)
target_compile_definitions(data_tests PRIVATE WALRELAY_TESTS_DIR="${CMAKE_CURRENT_SOURCE_DIR}")

# Rows that are published from the table and not from the stream.
walrelay_integration_test(backfill_tests VERSIONS TIMEOUT 180
  SOURCES
    integration/backfill.cpp
    integration/backfill_crash.cpp
    integration/backfill_marks.cpp
    integration/backfill_refusals.cpp
    integration/migration.cpp
    integration/recover.cpp
    integration/replay.cpp
    integration/fault_support.cpp
    support/outbox_case.cpp
  LIBRARIES connector
)

# What becomes of rows after they are published.
walrelay_integration_test(retention_tests VERSIONS TIMEOUT 120
  SOURCES
    integration/fault_support.cpp
    integration/retention.cpp
    soak/soak.cpp
    support/outbox_case.cpp
  LIBRARIES connector
)
# Weeks in a minute, hidden from the list above.
catch_discover_tests(retention_tests TEST_SPEC "[.soak]" TEST_PREFIX "soak: "
                     PROPERTIES LABELS soak TIMEOUT 300 COST 1000 FIXTURES_REQUIRED servers
                                ENVIRONMENT WALRELAY_TEST_SERVERS=${shared_servers_file})
