#include "connector/config/text_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace walrelay {
namespace {

constexpr std::size_t kBytesMax = std::size_t{1} << 20U;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::string last_error() { return std::error_code(errno, std::generic_category()).message(); }

}  // namespace

TextFile read_text_file(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  if (!file) return {{}, last_error()};
  std::string text;
  std::array<char, 16'384> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    text.append(buffer.data(), count);
    if (text.size() > kBytesMax) return {{}, "it is larger than 1 MiB"};
  }
  if (std::ferror(file.get()) != 0) return {{}, last_error()};
  if (text.find('\0') != std::string::npos) return {{}, "it contains a zero byte"};
  return {std::move(text), {}};
}

}  // namespace walrelay
