#pragma once
// Small files that people write: configurations, secrets, certificates.

#include <string>

namespace walrelay {

struct TextFile {
  std::string text;
  std::string problem;  // why it could not be read; "" if it was
};

// At most 1 MiB; more, or a zero byte, is a problem: it is another file than was meant.
[[nodiscard]] TextFile read_text_file(const std::string& path);

}  // namespace walrelay
