# What breaks while a relay runs: the broker, the server, the connection, the relay itself. Most of these cases wait, and
# each has servers or a database of its own: ctest -j runs them side by side.

walrelay_integration_test(fault_tests VERSIONS TIMEOUT 240
  SOURCES
    integration/big_rows.cpp
    integration/fault_broker_killed.cpp
    integration/fault_broker_paused.cpp
    integration/fault_classes.cpp
    integration/fault_crash.cpp
    integration/fault_half_open.cpp
    integration/fault_high_availability.cpp
    integration/fault_idle.cpp
    integration/fault_outage.cpp
    integration/fault_progress.cpp
    integration/fault_refused.cpp
    integration/fault_sessions.cpp
    integration/fault_shutdown.cpp
    integration/fault_signals.cpp
    integration/fault_startup.cpp
    integration/fault_support.cpp
    integration/fault_visibility.cpp
    torture/load.cpp
    torture/network.cpp
    torture/torture.cpp
    torture/walsender.cpp
  LIBRARIES connector mock_cluster
)

# What takes minutes is hidden from the list above, and starts first where cases run side by side.
catch_discover_tests(fault_tests TEST_SPEC "[.torture]" TEST_PREFIX "torture: "
                     PROPERTIES LABELS torture TIMEOUT 300 COST 1000 FIXTURES_REQUIRED servers
                                SKIP_REGULAR_EXPRESSION "left out:"
                                ENVIRONMENT WALRELAY_TEST_SERVERS=${shared_servers_file})
