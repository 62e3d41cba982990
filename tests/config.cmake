walrelay_test(config_test unit
  SOURCES
    unit/command_line_help.cpp
    unit/command_line_parse.cpp
    unit/completion_test.cpp
    unit/config_errors.cpp
    unit/config_examples.cpp
    unit/config_file_read.cpp
    unit/config_keys.cpp
    unit/config_load.cpp
    unit/config_outbox.cpp
    unit/config_print_test.cpp
    unit/config_reference_test.cpp
    unit/config_secrets.cpp
    unit/deploy_configs.cpp
    unit/docs_examples.cpp
    unit/nearest_name_test.cpp
    unit/options_values.cpp
    support/temp_dir.cpp
  LIBRARIES connector)
target_compile_definitions(config_test PRIVATE WALRELAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
