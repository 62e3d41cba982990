#include "connector/given_time.h"

#include <string>

#include "decoder/event_time.h"

namespace walrelay {

std::optional<std::int64_t> parse_given_time(std::string_view text) {
  if (const auto time = parse_event_time(text)) return time;
  constexpr std::size_t kMinutesEnd = std::string_view(" 12:00").size();
  const auto clock = text.find_first_of(" T");
  const bool short_clock = clock != std::string_view::npos && text.size() >= clock + kMinutesEnd &&
                           (text.size() == clock + kMinutesEnd || text[clock + kMinutesEnd] != ':');
  if (!short_clock) return std::nullopt;
  return parse_event_time(std::string(text).insert(clock + kMinutesEnd, ":00"));
}

}  // namespace walrelay
