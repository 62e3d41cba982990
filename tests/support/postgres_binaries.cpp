#include "tests/support/postgres_binaries.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace walrelay::test {
namespace {

constexpr const char* kInstalled = "/usr/lib/postgresql";
constexpr const char* kUnpacked = WALRELAY_POSTGRESQL_DIR;

std::string binaries_under(const std::string& root, int version) { return fmt::format("{}/{}/bin", root, version); }

bool has_server(const std::string& binaries) { return std::filesystem::exists(binaries + "/initdb"); }

int parse_version(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

int newest_installed() {
  int newest = 0;
  if (!std::filesystem::exists(kInstalled)) return newest;
  for (const auto& entry : std::filesystem::directory_iterator(kInstalled)) {
    const int number = parse_version(entry.path().filename().string());
    if (has_server(binaries_under(kInstalled, number))) newest = std::max(newest, number);
  }
  return newest;
}

}  // namespace

int default_postgres_version() {
  const char* given = std::getenv("WALRELAY_PG_VERSION");
  const int version = given != nullptr ? parse_version(given) : newest_installed();
  if (version == 0) {
    throw std::runtime_error(
        fmt::format("no PostgreSQL server in {}; install one or set WALRELAY_PG_VERSION", kInstalled));
  }
  return version;
}

std::string postgres_binaries(int version) {
  auto installed = binaries_under(kInstalled, version);
  if (has_server(installed)) return installed;
  const auto unpacked = binaries_under(fmt::format("{}/{}/usr/lib/postgresql", kUnpacked, version), version);
  // Perhaps a link out of a directory that the server's user may not enter.
  if (has_server(unpacked)) return std::filesystem::canonical(unpacked).string();
  throw std::runtime_error(
      fmt::format("PostgreSQL {0} is neither in {1} nor in {2}; run: tests/support/postgres-server {0} {2}/{0}",
                  version, kInstalled, kUnpacked));
}

}  // namespace walrelay::test
