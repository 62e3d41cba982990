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
walrelay_packaging_test("shells complete by what completion prints, and roff takes the manual page"
  ${CMAKE_CURRENT_SOURCE_DIR}/packaging/completions $<TARGET_FILE:walrelay>)
walrelay_packaging_test("the Debian package has what belongs into it, where it belongs"
  ${CMAKE_CURRENT_SOURCE_DIR}/packaging/debian-package ${PROJECT_BINARY_DIR})

# Minutes: not with the others.
add_test(NAME "package: a bare Debian installs the package, and is as before when it is purged"
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/packaging/debian-package ${PROJECT_BINARY_DIR} --chroot)
set_tests_properties("package: a bare Debian installs the package, and is as before when it is purged"
                     PROPERTIES LABELS package TIMEOUT 900 SKIP_RETURN_CODE 77)

set(chart ${PROJECT_SOURCE_DIR}/deploy/helm/walrelay)
walrelay_packaging_test("Helm takes the chart, and refuses wrong values" ${CMAKE_CURRENT_SOURCE_DIR}/packaging/helm-chart ${chart})
add_test(NAME "package: a Helm that is built for it takes the chart, and refuses wrong values"
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/packaging/helm-chart ${chart} ${PROJECT_SOURCE_DIR}/build/helm)
set_tests_properties("package: a Helm that is built for it takes the chart, and refuses wrong values"
                     PROPERTIES LABELS package TIMEOUT 1800 SKIP_RETURN_CODE 77)
