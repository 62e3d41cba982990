// `walrelay replay`: rows of the table, or dead letters, once more. Confirms nothing and touches no slot.

#include <fmt/format.h>

#include <algorithm>

#include "connector/commands/backfill.h"
#include "connector/commands/command_support.h"
#include "connector/commands/commands.h"
#include "connector/observe/log.h"
#include "connector/postgres/catalog.h"
#include "connector/publish/publish_dead_letters.h"
#include "connector/publish/publish_rows.h"
#include "sinks/sink_error.h"

namespace walrelay {
namespace {

std::string listed_tables(const Config& config) {
  std::vector<std::string> tables;
  for (const auto& rules : config.outboxes) {
    if (!rules.table.empty()) tables.push_back(rules.table);
  }
  return join(tables, ", ");
}

// Ids that are there may still not be wanted.
std::string_view other_filters(const ReplayFlags& flags) {
  const auto& filter = flags.filter;
  const bool others = !filter.type.empty() || filter.since_ms || filter.before_ms;
  return others ? ", together with what the other flags ask for" : "";
}

ExitCode replay_rows(const Config& config, const ReplayFlags& flags) {
  const auto tables = listed_tables(config);
  if (flags.filter.everything() && !flags.yes &&
      !agreed(fmt::format("Publish every row of {} again? Consumers drop repeats by id, if they do.", tables))) {
    return ExitCode::check_failed;
  }
  PgConnection connection(query_conninfo(config));
  const auto position = read_server(connection).wal_lsn;
  const auto [tally, marks] = publish_rows(connection, config, {"replay", flags.filter, "", position});
  auto ids = flags.filter.ids;
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (tally.settled() == 0 && !ids.empty()) {
    say(fmt::format("walrelay replay: no row of {} has the id {}{}", tables, join(ids, " or "), other_filters(flags)));
    return ExitCode::check_failed;
  }
  say(fmt::format("{} from {}", tally.to_string(), tables));
  if (const auto text = marks.to_string(); !text.empty()) say(text);
  if (tally.settled() >= ids.size()) return ExitCode::done;
  say(fmt::format("walrelay replay: {} of the {} ids were not found{}", ids.size() - tally.settled(), ids.size(),
                  other_filters(flags)));
  return ExitCode::check_failed;
}

ExitCode replay_dead_letters(const Config& config, const ReplayFlags& flags) {
  const auto& topic = config.delivery.dead_letter_topic;
  if (flags.filter.everything() && !flags.yes &&
      !agreed(
          fmt::format("Publish every dead letter of topic \"{}\", each to the topic that its event was meant for? They "
                      "stay in \"{}\", also those that were replayed before.",
                      topic, topic))) {
    return ExitCode::check_failed;
  }
  const auto tally = publish_dead_letters(config, flags.filter);
  const auto& missing = tally.missing_ids;
  if (tally.published.settled() > 0 || missing.empty()) {
    say(fmt::format("{}, to the topics that their events were meant for; they stay in topic \"{}\" as well",
                    tally.published.to_string("dead letter"), topic));
  }
  if (tally.without_topic > 0) {
    say(fmt::format(
        "walrelay replay: {} not published, since nobody knows for which topic: the rows could not be mapped; correct "
        "the mapping, and publish the rows themselves: walrelay replay --id ID",
        tally.without_topic));
  }
  if (!missing.empty()) {
    say(fmt::format("walrelay replay: no dead letter of topic \"{}\" has the id {}{}", topic, join(missing, " or "),
                    other_filters(flags)));
  }
  return tally.without_topic == 0 && missing.empty() ? ExitCode::done : ExitCode::check_failed;
}

ExitCode replay(const Config& config, const ReplayFlags& flags) {
  configure_log(config.log);
  if (!sink_answers(config)) return ExitCode::check_failed;
  try {
    return flags.dead_letters ? replay_dead_letters(config, flags) : replay_rows(config, flags);
  } catch (const PublishStopped& stopped) {
    say(fmt::format("walrelay replay: {}", stopped.what()));
    return stopped.code();
  }
}

}  // namespace

ExitCode replay_command(const Config& config, const ReplayFlags& flags) {
  return guarded("replay", [&] { return replay(config, flags); });
}

}  // namespace walrelay
