# Instructions of decoder, router and frontier for an event, counted by callgrind: a guard against slow creep that does not depend
# on the machine. Sanitizers and flags of one's own make other code, about which nothing is recorded.
if(NOT WALRELAY_SANITIZE AND NOT CMAKE_CXX_FLAGS)
  string(REGEX MATCH "^[0-9]+" compiler_major "${CMAKE_CXX_COMPILER_VERSION}")
  set(compiler "${CMAKE_CXX_COMPILER_ID} ${compiler_major} ${CMAKE_SYSTEM_PROCESSOR} ${CMAKE_BUILD_TYPE}")
  set_target_properties(bench_decode PROPERTIES EXCLUDE_FROM_ALL OFF)
  add_dependencies(all_unit_tests bench_decode)
  add_test(NAME "unit: an event takes no more instructions than recorded"
           COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/bench/instructions.py $<TARGET_FILE:bench_decode> ${compiler})
  set_tests_properties("unit: an event takes no more instructions than recorded" PROPERTIES LABELS unit TIMEOUT 60
                       SKIP_RETURN_CODE 77)
endif()
