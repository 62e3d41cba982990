#pragma once
// What a setting's value is, or ConfigError why it cannot be that.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "connector/config/setting.h"

namespace walrelay {

// References are expanded (variables.h). Refuses everything but text.
[[nodiscard]] std::string text_value(const Setting& setting);

// Text, a number or true and false as text: what librdkafka's properties are made of.
[[nodiscard]] std::string property_value(const Setting& setting);

// Text or a number: flags and ${NAME} only know text.
[[nodiscard]] std::uint64_t count_value(const Setting& setting);
[[nodiscard]] std::uint64_t size_value(const Setting& setting);     // bytes
[[nodiscard]] std::int64_t duration_value(const Setting& setting);  // milliseconds

// The index of the text among the names; a miss is answered with all of them and the nearest.
[[nodiscard]] std::size_t choice_value(const Setting& setting, std::span<const std::string_view> names);

// "\"halt\"" for messages: as it was written, so that nothing that came from ${file:...} is shown.
[[nodiscard]] std::string shown(const Setting& setting);

}  // namespace walrelay
