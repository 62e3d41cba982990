# How the connector meets PostgreSQL: names, connection strings, errors, and the commands that administer a server.

walrelay_test(postgres_tests unit
  SOURCES
    unit/admin_sql.cpp
    unit/backfill_choice.cpp
    unit/config_proposal.cpp
    unit/pg_conninfo.cpp
    unit/pg_error.cpp
    unit/pg_quote.cpp
    unit/publication_check.cpp
    unit/row_meter_test.cpp
    unit/retention.cpp
    unit/row_query.cpp
    unit/transport_test.cpp
  LIBRARIES connector PostgreSQL::PostgreSQL
)

walrelay_integration_test(admin_tests VERSIONS TIMEOUT 120
  SOURCES
    integration/admin_check.cpp
    integration/admin_connect.cpp
    integration/admin_init.cpp
    integration/admin_slots.cpp
    integration/admin_tail.cpp
    support/fake_pooler.cpp
  LIBRARIES connector
)
target_compile_definitions(admin_tests PRIVATE WALRELAY_PROGRAM="${PROJECT_BINARY_DIR}/connector/walrelay")
