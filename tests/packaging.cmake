# What is installed: unit files, man page, completions, package.

function(walrelay_packaging_test claim)
  add_test(NAME "integration: ${claim}" COMMAND ${ARGN})
  set_tests_properties("integration: ${claim}" PROPERTIES LABELS integration TIMEOUT 60 SKIP_RETURN_CODE 77)
endfunction()

foreach(unit_file ${PROJECT_SOURCE_DIR}/deploy/systemd/walrelay.service ${PROJECT_BINARY_DIR}/deploy/walrelay@.service)
  get_filename_component(unit_name ${unit_file} NAME)
  walrelay_packaging_test("systemd takes ${unit_name}, which leaves little open"
    ${CMAKE_CURRENT_SOURCE_DIR}/packaging/unit-file ${unit_file} $<TARGET_FILE:walrelay>)
endforeach()
