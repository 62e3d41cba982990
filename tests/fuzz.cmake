# cmake --preset fuzz && cmake --build --preset fuzz --target fuzzers && ctest --test-dir build/fuzz -L fuzz
# Only the decoder is built for them, not the rest of the project. New finds go to the build folder; what is worth keeping is
# copied to fuzz/corpus/.
if(NOT WALRELAY_FUZZ)
  return()
endif()
set(WALRELAY_FUZZ_SECONDS 30 CACHE STRING "How long each fuzzer runs under ctest")

foreach(library decoder decoder_test_support)
  target_compile_options(${library} PRIVATE -fsanitize=fuzzer-no-link)
endforeach()

add_custom_target(fuzzers)

function(walrelay_fuzzer name source)
  set(fuzzer ${name}_fuzzer)
  add_executable(${fuzzer} ${source})
  walrelay_options(${fuzzer})
  target_compile_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
  target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${fuzzer} PRIVATE decoder decoder_test_support)
  add_dependencies(fuzzers ${fuzzer})

  set(finds ${CMAKE_CURRENT_BINARY_DIR}/corpus/${name})
  file(MAKE_DIRECTORY ${finds})
  add_test(NAME "fuzz: ${name}"
           COMMAND ${fuzzer} -max_total_time=${WALRELAY_FUZZ_SECONDS} -timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=16
                   -print_final_stats=1 -artifact_prefix=${finds}-failed- ${finds}
                   ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name})
  math(EXPR timeout "${WALRELAY_FUZZ_SECONDS} + 120")
  set_tests_properties("fuzz: ${name}" PROPERTIES LABELS fuzz TIMEOUT ${timeout})
endfunction()

walrelay_fuzzer(copy_frame fuzz/copy_frame_fuzzer.cpp)
walrelay_fuzzer(truncation fuzz/truncation_fuzzer.cpp)
walrelay_fuzzer(router fuzz/router_fuzzer.cpp)
