# Only Debian packages (bookworm and trixie), found the way each of them is packaged.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(simdjson REQUIRED)
find_package(PostgreSQL REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp REQUIRED)
pkg_check_modules(rdkafka REQUIRED IMPORTED_TARGET rdkafka)
# Debian ships cpp-httplib compiled, with TLS and codecs on; the macros that must match come from its .pc file. What its header
# itself calls of OpenSSL (0.18) the .pc file does not name.
pkg_check_modules(cpp_httplib REQUIRED IMPORTED_TARGET cpp-httplib)
find_package(OpenSSL REQUIRED)
target_link_libraries(PkgConfig::cpp_httplib INTERFACE OpenSSL::SSL OpenSSL::Crypto)
