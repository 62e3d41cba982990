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

std::string tables_of(const Config& config) {
  std::vector<std::string> tables;
  for (const auto& rules : config.outboxes) {
    if (!rules.table.empty()) tables.push_back(rules.table);
  }
  return join(tables, ", ");
}

ExitCode replay_rows(const Config& config, const ReplayFlags& flags) {
  const auto tables = tables_of(config);
  if (flags.filter.everything() && !flags.yes &&
      !agreed(fmt::format("Publish every row of {} again? Consumers drop repeats by id, if they do.", tables))) {
    return ExitCode::check_failed;
  }
  PgConnection connection(query_conninfo(config));
  const auto position = read_server(connection).wal_lsn;
  const auto tally = publish_rows(connection, config, {"replay", flags.filter, "", position});
  say(fmt::format("{} from {}", tally.to_string(), tables));
  auto ids = flags.filter.ids;
  std::sort(ids.begin(), ids.end());
  const auto wanted = static_cast<std::uint64_t>(std::unique(ids.begin(), ids.end()) - ids.begin());
  if (tally.settled() >= wanted) return ExitCode::done;
  say(fmt::format("walrelay replay: {} of the {} ids were not found among the rows that the flags choose",
                  wanted - tally.settled(), wanted));
  return ExitCode::check_failed;
}

ExitCode replay_dead_letters(const Config& config, const ReplayFlags& flags) {
  const auto& topic = config.delivery.dead_letter_topic;
  if (flags.filter.everything() && !flags.yes &&
      !agreed(fmt::format("Publish every record of topic \"{}\" again, to the topic that it was meant for?", topic))) {
    return ExitCode::check_failed;
  }
  const auto tally = publish_dead_letters(config, flags.filter);
  say(fmt::format("{} from topic \"{}\"", tally.published.to_string(), topic));
  if (tally.without_topic == 0) return ExitCode::done;
  say(fmt::format(
      "walrelay replay: {} of the dead letters name no topic, since their rows could not be mapped: correct the "
      "mapping and publish the rows by --id",
      tally.without_topic));
  return ExitCode::check_failed;
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
