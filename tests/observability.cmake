walrelay_test(observability_tests unit
  SOURCES
    unit/admin_server_http.cpp
    unit/admin_server_pages.cpp
    unit/backoff_test.cpp
    unit/event_poll_test.cpp
    unit/log_test.cpp
    unit/metrics_test.cpp
    unit/metrics_text_test.cpp
  LIBRARIES connector PkgConfig::cpp_httplib
)
