#include "sinks/kafka_statistics.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace walrelay {
namespace {

// The number that follows `"name":` in a flat object's text, 0 if there is none.
std::int64_t number_of(std::string_view object, std::string_view quoted_name) {
  const auto at = object.find(quoted_name);
  if (at == std::string_view::npos) return 0;
  object.remove_prefix(at + quoted_name.size());
  object.remove_prefix(std::min(object.size(), object.find_first_not_of(": ")));
  std::int64_t number = 0;
  std::from_chars(object.data(), object.data() + object.size(), number);
  return number;
}

}  // namespace

std::optional<std::chrono::microseconds> mean_round_trip(std::string_view json) {
  constexpr std::string_view kWindow = "\"rtt\":";
  double microseconds = 0;
  double requests = 0;
  for (auto at = json.find(kWindow); at != std::string_view::npos; at = json.find(kWindow)) {
    json.remove_prefix(at + kWindow.size());
    const auto window = json.substr(0, json.find('}'));
    const auto count = static_cast<double>(number_of(window, "\"cnt\""));
    microseconds += count * static_cast<double>(number_of(window, "\"avg\""));
    requests += count;
  }
  if (requests <= 0) return std::nullopt;
  return std::chrono::microseconds(static_cast<std::int64_t>(microseconds / requests));
}

bool any_broker_is_up(std::string_view json) { return json.find("\"state\":\"UP\"") != std::string_view::npos; }

}  // namespace walrelay
