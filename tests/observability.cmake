walrelay_test(observability_tests unit
  SOURCES
    unit/admin_server_http.cpp
    unit/admin_server_pages.cpp
    unit/backoff_test.cpp
    unit/patience.cpp
    unit/event_poll_test.cpp
    unit/history_test.cpp
    unit/log_test.cpp
    unit/metrics_named.cpp
    unit/metrics_test.cpp
    unit/metrics_text_test.cpp
    unit/quantity_text.cpp
    unit/service_manager_test.cpp
    unit/status_page_test.cpp
    support/temp_dir.cpp
  LIBRARIES connector PkgConfig::cpp_httplib
)
target_compile_definitions(observability_tests PRIVATE WALRELAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# With Prometheus, from Debian's package of that name.
walrelay_integration_test(operations_tests TIMEOUT 240
  SOURCES
    integration/example_consumers.cpp
    integration/fault_support.cpp
    integration/prometheus_scrape.cpp
    integration/service_notify.cpp
    integration/status_page.cpp
    support/outbox_case.cpp
  LIBRARIES connector PkgConfig::cpp_httplib
)
target_compile_definitions(operations_tests PRIVATE WALRELAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
catch_discover_tests(operations_tests TEST_SPEC "[.package]" TEST_PREFIX "package: "
                     PROPERTIES LABELS package TIMEOUT 900 FIXTURES_REQUIRED servers
                                ENVIRONMENT WALRELAY_TEST_SERVERS=${shared_servers_file})
