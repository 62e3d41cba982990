add_library(mock_cluster STATIC support/mock_cluster.cpp)
walrelay_options(mock_cluster)
target_include_directories(mock_cluster PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(mock_cluster PUBLIC PkgConfig::rdkafka)

walrelay_test(sinks_kafka_test unit SOURCES sinks/kafka_sink_test.cpp LIBRARIES sinks mock_cluster)
