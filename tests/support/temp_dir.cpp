#include "tests/support/temp_dir.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace walrelay::test {

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "walrelay-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr || chmod(name.c_str(), 0755) != 0) {
    throw std::runtime_error(fmt::format("cannot make the directory {}: {}", name, std::strerror(errno)));
  }
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (error) fmt::print(stderr, "cannot remove {}: {}\n", path_.string(), error.message());
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) throw std::runtime_error(fmt::format("cannot write {}", path.string()));
}

}  // namespace walrelay::test
