#pragma once
// write(2) until all is written. What a closed or full descriptor does not take is lost: for stderr, where there is
// nowhere left to say so.

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

namespace walrelay {

inline void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace walrelay
