# Shared by the decoder's tests and the fuzzers.
add_library(decoder_test_support STATIC support/describe_message.cpp)
target_include_directories(decoder_test_support PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
walrelay_options(decoder_test_support)
target_link_libraries(decoder_test_support PUBLIC decoder)

walrelay_test(decoder_tests unit
  SOURCES
    support/count_allocations.cpp
    unit/decoder_bad_bytes.cpp
    unit/decoder_copy_frame.cpp
    unit/decoder_golden.cpp
    unit/decoder_messages.cpp
    unit/decoder_wire_reader.cpp
  LIBRARIES decoder_test_support
)
target_compile_definitions(decoder_tests PRIVATE WALRELAY_GOLDEN_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}/golden")
