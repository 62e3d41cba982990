# The rules for the source tree, each a test of its own.

find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(walrelay_style_test check claim)
  add_test(NAME "style: ${claim}" COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/style/check.py ${check})
  set_tests_properties("style: ${claim}" PROPERTIES LABELS style TIMEOUT 60)
endfunction()

walrelay_style_test(format "every file is formatted")
walrelay_style_test(sizes "no file is longer than 500 lines")
walrelay_style_test(includes "includes point one way")
walrelay_style_test(listed "every source file is built")
walrelay_style_test(headers "every header is guarded")
walrelay_style_test(marks "nothing is marked unfinished")
walrelay_style_test(links "links between pages lead somewhere")
walrelay_style_test(names "every test case can be called by its name")
walrelay_style_test(runbooks "every alert has its section in the runbook")
walrelay_style_test(log-events "every log event is in the runbook")
walrelay_style_test(yaml "every YAML file is YAML")

# promtool is in Debian's package prometheus.
function(walrelay_promtool_test claim)
  add_test(NAME "style: ${claim}" COMMAND promtool ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/deploy/prometheus)
  set_tests_properties("style: ${claim}" PROPERTIES LABELS style TIMEOUT 60)
endfunction()

walrelay_promtool_test("the alert rules are rules" check rules alerts.yml)
walrelay_promtool_test("the compose file's Prometheus is configured" check config --syntax-only ../compose/prometheus.yml)
walrelay_promtool_test("each alert fires in its story, and not in another" test rules alerts_test.yml)
