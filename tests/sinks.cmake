add_library(mock_cluster STATIC support/mock_cluster.cpp)
walrelay_options(mock_cluster)
target_include_directories(mock_cluster PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(mock_cluster PUBLIC PkgConfig::rdkafka)

walrelay_test(sinks_json_test unit SOURCES sinks/json_test.cpp LIBRARIES sinks)
walrelay_test(sinks_file_test unit SOURCES sinks/file_sink_test.cpp support/temp_dir.cpp LIBRARIES sinks)
walrelay_test(sinks_kafka_options_test unit SOURCES sinks/kafka_options_test.cpp LIBRARIES sinks)
walrelay_test(sinks_kafka_test unit
  SOURCES sinks/kafka_sink_test.cpp sinks/kafka_failures_test.cpp sinks/kafka_progress_test.cpp
          sinks/kafka_flusher_test.cpp sinks/kafka_topics_test.cpp
          sinks/kafka_resend_test.cpp support/temp_dir.cpp
  LIBRARIES sinks mock_cluster)
