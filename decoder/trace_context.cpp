#include "decoder/trace_context.h"

#include <algorithm>
#include <cstddef>

namespace walrelay {
namespace {

constexpr std::size_t kVersion00Bytes = 55;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) { return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos; }

}  // namespace

bool is_traceparent(std::string_view text) {
  if (text.size() < kVersion00Bytes || text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  const auto version = text.substr(0, 2);
  if (!is_hex(version) || version == "ff") return false;
  if (text.size() > kVersion00Bytes && (version == "00" || text[kVersion00Bytes] != '-')) return false;
  return is_id(text.substr(3, 32)) && is_id(text.substr(36, 16)) && is_hex(text.substr(53, 2));
}

}  // namespace walrelay
