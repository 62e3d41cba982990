#include "connector/config/setting_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "connector/config/option_values.h"
#include "connector/config/variables.h"
#include "decoder/nearest_name.h"

namespace walrelay {
namespace {

struct Describe {
  std::string operator()(OddValue odd) const {
    switch (odd) {
      case OddValue::array:
        return "an array";
      case OddValue::date:
        return "a date or time";
      case OddValue::empty_table:
        break;
    }
    return "a table";
  }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const {
    constexpr std::size_t kShown = 100;
    return fmt::format("\"{}\"{}", value.substr(0, kShown), value.size() > kShown ? "..." : "");
  }
};

constexpr std::string_view kDurationForm = R"(a whole number with one of the units ms, s, m, h, d, for example "60s")";
constexpr std::string_view kSizeForm =
    R"(a whole number with one of the units B, kB, MB, GB, KiB, MiB, GiB, for example "64MiB")";
constexpr std::string_view kCountForm = "a whole number, for example 1000";

[[noreturn]] void refuse_form(const Setting& setting, std::string_view form) {
  refuse(setting, fmt::format("{} is not valid; write {}", shown(setting), form));
}

}  // namespace

std::string shown(const Setting& setting) { return std::visit(Describe{}, setting.value); }

std::string text_value(const Setting& setting) {
  const auto* text = std::get_if<std::string>(&setting.value);
  if (text == nullptr)
    refuse(setting, fmt::format("{} stands where text is expected; put it in quotes", shown(setting)));
  std::string expanded = expand_variables(*text, setting);
  if (expanded.find('\0') != std::string::npos) refuse(setting, "contains a zero byte; remove it");
  return expanded;
}

std::string property_value(const Setting& setting) {
  if (const auto* boolean = std::get_if<bool>(&setting.value)) return *boolean ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&setting.value)) return fmt::format("{}", *number);
  if (const auto* number = std::get_if<double>(&setting.value)) return fmt::format("{}", *number);
  return text_value(setting);
}

std::uint64_t count_value(const Setting& setting) {
  if (const auto* number = std::get_if<std::int64_t>(&setting.value); number != nullptr && *number >= 0) {
    return static_cast<std::uint64_t>(*number);
  }
  if (!std::holds_alternative<std::string>(setting.value)) refuse_form(setting, kCountForm);
  const auto count = parse_count(text_value(setting));
  if (!count) refuse_form(setting, kCountForm);
  return *count;
}

std::uint64_t size_value(const Setting& setting) {
  if (std::holds_alternative<std::int64_t>(setting.value)) return count_value(setting);
  if (!std::holds_alternative<std::string>(setting.value)) refuse_form(setting, kSizeForm);
  const auto size = parse_size(text_value(setting));
  if (!size) refuse_form(setting, kSizeForm);
  return *size;
}

std::int64_t duration_value(const Setting& setting) {
  if (!std::holds_alternative<std::string>(setting.value)) refuse_form(setting, kDurationForm);
  const auto duration = parse_duration(text_value(setting));
  if (!duration) refuse_form(setting, kDurationForm);
  return duration->count();
}

std::size_t choice_value(const Setting& setting, std::span<const std::string_view> names) {
  const std::string text = text_value(setting);
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const std::string_view near = nearest_name(text, names);
  refuse(setting, fmt::format("{} is not one of {}{}", shown(setting), fmt::join(names, ", "),
                              near.empty() ? std::string() : fmt::format("; did you mean {}?", near)));
}

}  // namespace walrelay
