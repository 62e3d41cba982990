#include "connector/failure_log.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "connector/observe/log.h"

namespace walrelay {
namespace {

void log_event(EventFate fate, LogLevel level, std::string_view text, LogFields fields) {
  if (fate == EventFate::skipped) {
    log_line(level, "event_skipped", text, fields);
  } else {
    log_line(level, "dead_letter", text, fields);
  }
}

}  // namespace

void FailureLog::tell(EventFate fate, const Rejection& rejection, std::string_view outbox,
                      std::optional<Lsn> commit_lsn, Instant now) {
  const auto failure_class = rejection.failure_class;
  auto& named = named_[static_cast<std::size_t>(fate)][static_cast<std::size_t>(failure_class)];
  if (named.count > 0 && now - named.since >= kWhile) tell_more(fate, failure_class, named);
  if (named.count == 0) named.since = now;
  const bool name_it = named.count < kNamedMax;
  ++(name_it ? named.count : named.more);
  has_rest_ = has_rest_ || !name_it;
  const auto level = name_it ? LogLevel::warning : LogLevel::debug;
  const LogField class_field{"class", to_string(failure_class)};
  if (commit_lsn) {
    log_event(fate, level, rejection.reason, {class_field, {"outbox", outbox}, {"commit_lsn", *commit_lsn}});
  } else {
    log_event(fate, level, rejection.reason, {class_field, {"outbox", outbox}});
  }
}

void FailureLog::tell_rest(Instant now) {
  if (!has_rest_) return;
  has_rest_ = false;
  for (const auto fate : {EventFate::skipped, EventFate::dead_letter}) {
    auto& of_fate = named_[static_cast<std::size_t>(fate)];
    for (std::size_t index = 0; index < of_fate.size(); ++index) {
      auto& named = of_fate[index];
      if (named.more == 0) continue;
      if (now - named.since >= kWhile) {
        tell_more(fate, static_cast<FailureClass>(index), named);
      } else {
        has_rest_ = true;
      }
    }
  }
}

void FailureLog::tell_all() { tell_rest(Instant::max()); }

void FailureLog::tell_more(EventFate fate, FailureClass failure_class, Named& named) {
  const auto more = std::exchange(named, {}).more;
  if (more == 0) return;
  log_event(fate, LogLevel::warning,
            fmt::format("{} more like these, not named one by one; log.level = \"debug\" names each", more),
            {{"class", to_string(failure_class)}, {"more", more}});
}

}  // namespace walrelay
