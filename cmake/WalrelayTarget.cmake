# Every target of the project is made by one of these, so that flags, sanitizers and include rules are the same for all.

function(walrelay_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(WALRELAY_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(WALRELAY_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${WALRELAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${WALRELAY_SANITIZE})
  else()
    target_compile_options(${target} PRIVATE -fstack-protector-strong)
  endif()
endfunction()

# What nearly every file includes is compiled once for each library. A compiler cache does better without: a precompiled
# header is another one in each build directory, and so would be all that includes it.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
set(CMAKE_PCH_WARN_INVALID OFF)  # one that does not fit is read as text
set(walrelay_common_headers
  <fmt/format.h> <algorithm> <array> <charconv> <chrono> <cstdint> <memory> <optional> <span> <sstream> <stdexcept> <string>
  <string_view> <utility> <vector>)

# A library named after its folder. Headers are included as "folder/name.h"; what a library may include of the others is
# decided by what it links, so decoder cannot see libpq or librdkafka.
function(walrelay_library target)
  add_library(${target} STATIC ${ARGN})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  walrelay_options(${target})
  target_precompile_headers(${target} PRIVATE ${walrelay_common_headers})
endfunction()
