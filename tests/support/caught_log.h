#pragma once
// Catches what is logged while it lives.

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "connector/observe/log.h"
#include "tests/support/catch.h"

namespace walrelay::test {

class CaughtLog {
 public:
  explicit CaughtLog(const LogOptions& options) : file_(::memfd_create("log", MFD_CLOEXEC)) {
    REQUIRE(file_ >= 0);
    configure_log(options, file_);
  }
  ~CaughtLog() {
    configure_log({});
    ::close(file_);
  }
  CaughtLog(const CaughtLog&) = delete;
  CaughtLog& operator=(const CaughtLog&) = delete;

  // What has come since the last call.
  std::string read_some() {
    std::string text;
    std::array<char, 65'536> buffer{};
    while (true) {
      const auto got = ::pread(file_, buffer.data(), buffer.size(), offset_);
      REQUIRE(got >= 0);
      if (got == 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(got));
      offset_ += got;
    }
  }

  std::vector<std::string> read_lines() {
    std::istringstream text(read_some());
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

 private:
  int file_;
  off_t offset_ = 0;
};

}  // namespace walrelay::test
