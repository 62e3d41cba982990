#include "connector/server_history.h"

#include <algorithm>
#include <charconv>

namespace walrelay {

// PostgreSQL manual, "Timelines": one line a timeline, its number, where it was left, and a remark.
std::vector<TimelineEnd> parse_timeline_history(std::string_view text) {
  std::vector<TimelineEnd> timelines;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto first_tab = line.find('\t');
    if (first_tab == std::string_view::npos) continue;
    TimelineEnd timeline;
    const auto end = Lsn::parse(line.substr(first_tab + 1, line.find('\t', first_tab + 1) - first_tab - 1));
    if (std::from_chars(line.data(), line.data() + first_tab, timeline.timeline).ec != std::errc{} || !end) continue;
    timeline.end = *end;
    timelines.push_back(timeline);
  }
  return timelines;
}

}  // namespace walrelay
