# Tests against a real PostgreSQL and a real Kafka.

# One copy for all build directories.
set(kafka_jars ${PROJECT_SOURCE_DIR}/build/kafka-jars)
set(postgresql_directory ${PROJECT_SOURCE_DIR}/build/postgresql)
set(shared_servers_file ${CMAKE_CURRENT_BINARY_DIR}/shared_servers.txt)

add_library(test_support STATIC
  support/free_port.cpp
  support/kafka_broker.cpp
  support/kafka_client.cpp
  support/kafka_cluster.cpp
  support/pg_session.cpp
  support/postgres_binaries.cpp
  support/postgres_server.cpp
  support/process.cpp
  support/relay_process.cpp
  support/shared_servers.cpp
  support/tcp_proxy.cpp
  support/temp_dir.cpp
  support/test_network.cpp
  support/topic_reader.cpp
)
walrelay_options(test_support)
target_include_directories(test_support PUBLIC ${PROJECT_SOURCE_DIR})
target_compile_options(test_support PRIVATE -O0)
target_precompile_headers(test_support REUSE_FROM test_headers)
target_compile_definitions(test_support PRIVATE WALRELAY_KAFKA_JARS_DIR="${kafka_jars}"
                           WALRELAY_POSTGRESQL_DIR="${postgresql_directory}"
                           WALRELAY_PROGRAM="$<TARGET_FILE:walrelay>")
set_target_properties(test_support PROPERTIES UNITY_BUILD OFF)
target_link_libraries(test_support PUBLIC PostgreSQL::PostgreSQL fmt::fmt
                      PRIVATE PkgConfig::rdkafka PkgConfig::cpp_httplib)

add_executable(shared_servers support/shared_servers_main.cpp)
walrelay_options(shared_servers)
target_link_libraries(shared_servers PRIVATE test_support)

# The servers that the tests share are a fixture of ctest's: one start for all cases, though each case is a process of its own.
add_test(NAME "servers: fetch Kafka" COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/support/kafka-jars ${kafka_jars})
add_test(NAME "servers: archive Kafka's classes" COMMAND shared_servers archive)
add_test(NAME "servers: start" COMMAND shared_servers start ${shared_servers_file})
add_test(NAME "servers: stop" COMMAND shared_servers stop ${shared_servers_file})
set_tests_properties("servers: fetch Kafka" PROPERTIES FIXTURES_SETUP kafka_jars LABELS integration TIMEOUT 900)
set_tests_properties("servers: archive Kafka's classes" PROPERTIES FIXTURES_SETUP kafka_classes FIXTURES_REQUIRED kafka_jars
                     LABELS integration TIMEOUT 180)
# Some cases take PostgreSQL 17 for what it has; where the system has none, it is fetched below.
set_tests_properties("servers: start" PROPERTIES FIXTURES_SETUP servers
                     FIXTURES_REQUIRED "kafka_jars;kafka_classes;postgresql_17"
                     LABELS integration TIMEOUT 180)
set_tests_properties("servers: stop" PROPERTIES FIXTURES_CLEANUP servers LABELS integration TIMEOUT 60)

# Versions of PostgreSQL that cases marked [versions] run with once more, each on a server that they share. The newest one
# that the system has runs everything already.
file(GLOB installed_servers /usr/lib/postgresql/*/bin/initdb)
list(TRANSFORM installed_servers REPLACE "^/usr/lib/postgresql/([0-9]+)/.*" "\\1")
list(SORT installed_servers COMPARE NATURAL ORDER DESCENDING)
set(other_servers 13 15 17 18)
if(installed_servers)
  list(GET installed_servers 0 default_server)
  list(REMOVE_ITEM other_servers ${default_server})
endif()

# Fixture postgresql_<version>: its programs.
foreach(version ${other_servers})
  add_test(NAME "servers: fetch PostgreSQL ${version}"
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/support/postgres-server ${version} ${postgresql_directory}/${version})
  set_tests_properties("servers: fetch PostgreSQL ${version}" PROPERTIES FIXTURES_SETUP postgresql_${version}
                       LABELS integration TIMEOUT 300)
endforeach()

# Fixture servers_<version>: one that runs, with the Kafka of the fixture servers.
foreach(version ${other_servers})
  set(file ${CMAKE_CURRENT_BINARY_DIR}/shared_servers_${version}.txt)
  add_test(NAME "servers: start PostgreSQL ${version}" COMMAND shared_servers start ${file} ${shared_servers_file})
  add_test(NAME "servers: stop PostgreSQL ${version}" COMMAND shared_servers stop ${file})
  set_tests_properties("servers: start PostgreSQL ${version}" PROPERTIES FIXTURES_SETUP servers_${version}
                       FIXTURES_REQUIRED "servers;postgresql_${version}" LABELS integration TIMEOUT 60
                       ENVIRONMENT WALRELAY_PG_VERSION=${version})
  set_tests_properties("servers: stop PostgreSQL ${version}" PROPERTIES FIXTURES_CLEANUP servers_${version}
                       FIXTURES_REQUIRED servers LABELS integration TIMEOUT 60)
endforeach()

# walrelay_integration_test(name SOURCES ... [LIBRARIES ...] [TIMEOUT seconds-per-case] [VERSIONS])
# The cases may use the shared servers, and start their own where they stop, pause or configure them. VERSIONS: those
# marked [versions] run with the other versions of PostgreSQL too, but for [not13] with 13.
function(walrelay_integration_test name)
  cmake_parse_arguments(ARG "VERSIONS" "TIMEOUT" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set(CMAKE_UNITY_BUILD OFF)  # each file has names for itself alone
  walrelay_test(${name} integration TIMEOUT ${ARG_TIMEOUT} SOURCES ${ARG_SOURCES} LIBRARIES test_support ${ARG_LIBRARIES}
                PROPERTIES FIXTURES_REQUIRED servers ENVIRONMENT WALRELAY_TEST_SERVERS=${shared_servers_file})
  add_dependencies(${name} walrelay shared_servers)
  if(NOT ARG_VERSIONS)
    return()
  endif()
  foreach(version ${other_servers})
    # The specification differs by version also because Catch names a file by it.
    catch_discover_tests(${name} TEST_SPEC "[versions]~[not${version}]" TEST_PREFIX "integration: pg${version}: "
      PROPERTIES LABELS integration TIMEOUT ${ARG_TIMEOUT} FIXTURES_REQUIRED servers_${version}
                 ENVIRONMENT WALRELAY_TEST_SERVERS=${CMAKE_CURRENT_BINARY_DIR}/shared_servers_${version}.txt
                 ENVIRONMENT_MODIFICATION WALRELAY_PG_VERSION=set:${version})
  endforeach()
endfunction()

walrelay_integration_test(fixtures_test SOURCES integration/fixtures_test.cpp LIBRARIES PkgConfig::rdkafka)

# The README's first command, with what is built here.
function(walrelay_quickstart_test claim)
  add_test(NAME "integration: ${claim}"
           COMMAND ${PROJECT_SOURCE_DIR}/deploy/quickstart --once --built ${PROJECT_BINARY_DIR} ${ARGN})
  set_tests_properties("integration: ${claim}" PROPERTIES LABELS integration FIXTURES_REQUIRED kafka_jars TIMEOUT 180
                       RESOURCE_LOCK quickstart)
endfunction()

# Asked how they are used they say it, and an option that they do not have is no file's name.
add_test(NAME "integration: the quickstart and its broker tell how they are used"
         COMMAND bash -o pipefail -c "deploy/quickstart --help | grep -e --mock && $<TARGET_FILE:mock_broker> --help | grep usage: &&
           ! deploy/quickstart --hlep && ! timeout 10 $<TARGET_FILE:mock_broker> --hlep && test ! -e ./--hlep"
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties("integration: the quickstart and its broker tell how they are used" PROPERTIES LABELS integration
                     TIMEOUT 60)

walrelay_quickstart_test("the quickstart goes from nothing to a lag of zero with Kafka")
walrelay_quickstart_test("the quickstart goes from nothing to a lag of zero without Java" --mock)
