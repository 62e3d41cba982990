#pragma once
// Lines that a sink has to say, handed to whoever makes it.

#include <cstdint>
#include <functional>
#include <string_view>

namespace walrelay {

enum class SinkLogLevel : std::uint8_t { debug, info, warning, error };

using SinkLog = std::function<void(SinkLogLevel level, std::string_view text)>;

}  // namespace walrelay
