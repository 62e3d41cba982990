# Every target of the project is made by one of these, so that flags, sanitizers and include rules are the same for all.

function(walrelay_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)  # what std::stable_sort of libstdc++ 12 calls, and macros of librdkafka
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations -Wno-gnu-statement-expression)
  endif()
  if(CMAKE_UNITY_BUILD)  # files that are compiled together have names in common; dev compiles each alone
    target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
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

# What makes a memory error harder to use: for the program and its libraries. Sanitizers have their own ways, and
# _FORTIFY_SOURCE needs optimisation.
function(walrelay_harden target)
  if(NOT WALRELAY_HARDENING OR WALRELAY_SANITIZE)
    return()
  endif()
  target_compile_options(${target} PRIVATE -fPIE -fstack-clash-protection
                         $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(${target} PRIVATE -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    target_compile_options(${target} PRIVATE -mbranch-protection=standard)
  endif()
  target_link_options(${target} PRIVATE -pie LINKER:-z,relro,-z,now,-z,noexecstack)
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
  walrelay_harden(${target})
  target_precompile_headers(${target} PRIVATE ${walrelay_common_headers})
endfunction()
