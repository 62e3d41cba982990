#include "connector/progress_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace walrelay {
namespace {

std::string other_server(const ProgressRecord& record, const ServerHistory& server) {
  if (record.system_identifier != server.system_identifier) {
    return fmt::format(
        "the progress record is of another cluster (system identifier {}, this server has {}); if another service's "
        "relay wrote it, give this one a slot name, or a delivery.progress_topic, of its own",
        record.system_identifier, server.system_identifier);
  }
  if (record.database != server.database) {
    return fmt::format("the progress record is of database \"{}\", the slot of \"{}\"", record.database,
                       server.database);
  }
  return {};
}

// Where the server's history left the record's timeline; nothing if that timeline is not in its history.
std::optional<Lsn> end_of_timeline(std::uint32_t timeline, const ServerHistory& server) {
  const auto found = std::ranges::find(server.earlier_timelines, timeline, &TimelineEnd::timeline);
  return found == server.earlier_timelines.end() ? std::nullopt : std::optional(found->end);
}

// A server on another timeline goes on if everything that was delivered happened before the timelines parted. Moves the
// record to the server's timeline.
std::string change_timeline(ProgressRecord& record, const ServerHistory& server) {
  const auto parted = end_of_timeline(record.timeline, server);
  if (!parted) {
    return fmt::format("the server is on timeline {}, which does not come from timeline {} that was published from",
                       server.timeline, record.timeline);
  }
  if (record.commit && record.commit->end_lsn > *parted) {
    return fmt::format(
        "the server left timeline {} at {}: transactions after that were published, and this server does not have them",
        record.timeline, parted->to_string());
  }
  record.timeline = server.timeline;
  record.position = std::min(record.position, *parted);
  return {};
}

std::string judge_positions(const ProgressRecord& record, const std::string& slot, Lsn slot_position,
                            const ServerHistory& server) {
  if (slot_position > record.position) {
    return fmt::format(
        "slot \"{}\" stands at {}, beyond what was delivered: it was made anew, or moved by somebody or by a run "
        "without the record",
        slot, slot_position.to_string());
  }
  if (record.timeline == server.timeline && server.flushed < record.position) {
    return fmt::format(
        "the server's log ends at {}, before what was delivered: it has gone back in time (a restored "
        "backup, a lagging standby?)",
        server.flushed.to_string());
  }
  return {};
}

std::string find_gap(ProgressRecord& record, const std::string& slot, Lsn slot_position, const ServerHistory& server) {
  std::string gap = other_server(record, server);
  if (gap.empty()) gap = judge_positions(record, slot, slot_position, server);
  if (gap.empty() && record.timeline != server.timeline) gap = change_timeline(record, server);
  return gap;
}

}  // namespace

std::string what_was_delivered(const ProgressRecord& record) {
  return record.commit ? fmt::format("events were delivered up to {}, the last commit at {}",
                                     record.position.to_string(), record.commit->end_lsn.to_string())
                       : fmt::format("what there was up to {} is delivered", record.position.to_string());
}

ProgressVerdict judge_progress(std::span<const std::string> stored, const std::string& slot, Lsn slot_position,
                               const ServerHistory& server) {
  if (stored.empty()) {
    ProgressRecord first{.slot = slot,
                         .system_identifier = server.system_identifier,
                         .timeline = server.timeline,
                         .database = server.database,
                         .position = slot_position,
                         .commit = std::nullopt};
    return {.gap = {}, .gate = {std::move(first), false}, .covered = std::nullopt};
  }
  const auto record = choose_progress(stored);
  if (!record) {
    return {.gap = fmt::format("the progress record of slot \"{}\" cannot be read: {}; {}", slot, stored.back(),
                               kWayOutOfGap),
            .gate = {},
            .covered = std::nullopt};
  }
  ProgressRecord going_on = *record;
  if (const auto gap = find_gap(going_on, slot, slot_position, server); !gap.empty()) {
    return {.gap = fmt::format("{}; {}; {}", gap, what_was_delivered(*record), kWayOutOfGap),
            .gate = {},
            .covered = std::nullopt};
  }
  const bool ahead = record->commit && record->commit->end_lsn > slot_position;
  const bool stored_as_it_is = going_on == *record;
  return {.gap = {}, .gate = {std::move(going_on), stored_as_it_is}, .covered = ahead ? record->commit : std::nullopt};
}

}  // namespace walrelay
