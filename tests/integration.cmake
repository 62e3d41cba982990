# Tests against a real PostgreSQL and a real Kafka.

set(kafka_jars ${PROJECT_SOURCE_DIR}/build/kafka-jars)  # one copy for all build directories
set(shared_servers_file ${CMAKE_CURRENT_BINARY_DIR}/shared_servers.txt)

walrelay_library(test_support
  support/free_port.cpp
  support/kafka_broker.cpp
  support/kafka_client.cpp
  support/pg_session.cpp
  support/postgres_server.cpp
  support/process.cpp
  support/relay_process.cpp
  support/shared_servers.cpp
  support/tcp_proxy.cpp
  support/temp_dir.cpp
  support/topic_reader.cpp
)
target_compile_options(test_support PRIVATE -O0)
target_compile_definitions(test_support PRIVATE WALRELAY_KAFKA_JARS_DIR="${kafka_jars}"
                           WALRELAY_PROGRAM="$<TARGET_FILE:walrelay>")
target_link_libraries(test_support PUBLIC PostgreSQL::PostgreSQL fmt::fmt
                      PRIVATE PkgConfig::rdkafka PkgConfig::cpp_httplib)

add_executable(shared_servers support/shared_servers_main.cpp)
walrelay_options(shared_servers)
target_link_libraries(shared_servers PRIVATE test_support)

# The servers that the tests share are a fixture of ctest's: one start for all cases, though each case is a process of its own.
add_test(NAME "servers: fetch Kafka" COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/support/kafka-jars ${kafka_jars})
add_test(NAME "servers: start" COMMAND shared_servers start ${shared_servers_file})
add_test(NAME "servers: stop" COMMAND shared_servers stop ${shared_servers_file})
set_tests_properties("servers: fetch Kafka" PROPERTIES FIXTURES_SETUP kafka_jars LABELS integration TIMEOUT 900)
set_tests_properties("servers: start" PROPERTIES FIXTURES_SETUP servers FIXTURES_REQUIRED kafka_jars LABELS integration
                     TIMEOUT 180)
set_tests_properties("servers: stop" PROPERTIES FIXTURES_CLEANUP servers LABELS integration TIMEOUT 60)

# walrelay_integration_test(name SOURCES ... [LIBRARIES ...] [TIMEOUT seconds-per-case])
# The cases may use the shared servers, and start their own where they stop, pause or configure them.
function(walrelay_integration_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  walrelay_test(${name} integration TIMEOUT ${ARG_TIMEOUT} SOURCES ${ARG_SOURCES} LIBRARIES test_support ${ARG_LIBRARIES}
                PROPERTIES FIXTURES_REQUIRED servers ENVIRONMENT WALRELAY_TEST_SERVERS=${shared_servers_file})
  add_dependencies(${name} walrelay shared_servers)
endfunction()

walrelay_integration_test(fixtures_test SOURCES integration/fixtures_test.cpp LIBRARIES PkgConfig::rdkafka)

# The README's first command, with what is built here.
function(walrelay_quickstart_test claim)
  add_test(NAME "integration: ${claim}"
           COMMAND ${PROJECT_SOURCE_DIR}/deploy/quickstart --once --built ${PROJECT_BINARY_DIR} ${ARGN})
  set_tests_properties("integration: ${claim}" PROPERTIES LABELS integration FIXTURES_REQUIRED kafka_jars TIMEOUT 180
                       RESOURCE_LOCK quickstart)
endfunction()

walrelay_quickstart_test("the quickstart goes from nothing to a lag of zero with Kafka")
walrelay_quickstart_test("the quickstart goes from nothing to a lag of zero without Java" --mock)
