#include "connector/variables.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace walrelay {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20U;  // a secret or a certificate, not a dump

std::string read_file(const std::string& path, const Setting& setting) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string content(kFileBytesMax + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file.is_open() || file.bad() || (errno != 0 && file.gcount() == 0)) {
    const std::error_code reason(errno, std::generic_category());
    refuse(setting, fmt::format("${{file:{}}} cannot be read: {}; correct the path or the file's rights", path,
                                reason.message()));
  }
  content.resize(static_cast<std::size_t>(file.gcount()));
  if (content.size() > kFileBytesMax) refuse(setting, fmt::format("${{file:{}}} is larger than 1 MiB", path));
  if (content.find('\0') != std::string::npos) {
    refuse(setting, fmt::format("${{file:{}}} contains a zero byte: it is not a text file", path));
  }
  if (content.ends_with('\n')) content.pop_back();
  if (content.ends_with('\r')) content.pop_back();
  return content;
}

std::string resolve(std::string_view reference, const Setting& setting) {
  constexpr std::string_view kFile = "file:";
  if (reference.starts_with(kFile)) return read_file(std::string(reference.substr(kFile.size())), setting);
  const std::string name(reference);
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): read before any thread is started
  if (value == nullptr) {
    refuse(
        setting,
        fmt::format("the environment variable {0} is not set; set it, or write $${{{0}}} for the text itself", name));
  }
  return value;
}

}  // namespace

std::string expand_variables(std::string_view text, const Setting& setting) {
  std::string expanded;
  for (auto start = text.find("${"); start != std::string_view::npos; start = text.find("${")) {
    if (start > 0 && text[start - 1] == '$') {
      expanded.append(text.substr(0, start - 1)).append("${");
      text.remove_prefix(start + 2);
      continue;
    }
    const auto end = text.find('}', start);
    if (end == std::string_view::npos)
      refuse(setting, "a ${ has no closing }; write $${ for the two characters themselves");
    expanded.append(text.substr(0, start)).append(resolve(text.substr(start + 2, end - start - 2), setting));
    text.remove_prefix(end + 1);
  }
  return expanded.append(text);
}

}  // namespace walrelay
