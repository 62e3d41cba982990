walrelay_test(mapping_test unit
  SOURCES unit/cloud_event_test.cpp unit/event_time_test.cpp unit/json_pointer_test.cpp unit/mapping_check_test.cpp unit/presets_test.cpp
          unit/router_allocation_test.cpp unit/router_message_test.cpp unit/router_relation_test.cpp unit/router_value_test.cpp
          unit/template_test.cpp unit/trace_context_test.cpp
  LIBRARIES decoder)
