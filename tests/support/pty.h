#pragma once
// A terminal of 80 columns for a test: what is written to its descriptor, and what its screen would have got.

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "sinks/file_descriptor.h"
#include "tests/support/catch.h"

namespace walrelay::test {

class Pty {
 public:
  Pty() : screen_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    REQUIRE(screen_.valid());
    REQUIRE(::grantpt(screen_.get()) == 0);
    REQUIRE(::unlockpt(screen_.get()) == 0);
    line_ = FileDescriptor(::open(::ptsname(screen_.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
    REQUIRE(line_.valid());
    winsize size{};
    size.ws_col = 80;
    size.ws_row = 24;
    REQUIRE(::ioctl(line_.get(), TIOCSWINSZ, &size) == 0);
  }

  [[nodiscard]] int descriptor() const { return line_.get(); }

  // What has come since the last call.
  std::string read_some() {
    std::string text;
    std::array<char, 4096> buffer{};
    pollfd readable{screen_.get(), POLLIN, 0};
    while (::poll(&readable, 1, 0) == 1) {
      const auto got = ::read(screen_.get(), buffer.data(), buffer.size());
      if (got <= 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  FileDescriptor screen_;
  FileDescriptor line_;
};

}  // namespace walrelay::test
