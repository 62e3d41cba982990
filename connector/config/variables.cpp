#include "connector/config/variables.h"

#include <fmt/format.h>

#include <cstdlib>

#include "connector/config/text_file.h"

namespace walrelay {
namespace {

std::string file_content(const std::string& path, const Setting& setting) {
  TextFile file = read_text_file(path);
  if (!file.problem.empty()) {
    refuse(setting, fmt::format("${{file:{}}} cannot be read: {}; correct the path or the file", path, file.problem));
  }
  if (file.text.ends_with('\n')) file.text.pop_back();
  if (file.text.ends_with('\r')) file.text.pop_back();
  return std::move(file.text);
}

std::string resolve(std::string_view reference, const Setting& setting) {
  constexpr std::string_view kFile = "file:";
  if (reference.starts_with(kFile)) return file_content(std::string(reference.substr(kFile.size())), setting);
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
