#pragma once
// The release, and the client libraries that this process really uses: they are shared, so the build does not decide.

#include <string>
#include <string_view>

namespace walrelay {

inline constexpr std::string_view kVersion = WALRELAY_VERSION;  // from CMake's project()

// "walrelay 0.1.0 (libpq 15.18, librdkafka 2.0.2)"
[[nodiscard]] std::string version_text();

}  // namespace walrelay
