// `walrelay drop`.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "connector/commands/command_support.h"
#include "connector/commands/commands.h"
#include "connector/postgres/slot_admin.h"
#include "connector/progress_store.h"
#include "connector/sink_factory.h"
#include "sinks/kafka_admin.h"
#include "sinks/kafka_options.h"

namespace walrelay {
namespace {

constexpr std::chrono::milliseconds kRecordTimeout{5'000};

// Whatever becomes of it, slot and publication are dropped: a record that stays only makes the next start ask.
void remove_progress(const Config& config) {
  const std::string& topic = config.delivery.progress_topic;
  const bool has_brokers = !kafka_bootstrap_servers(config.sink.kafka).empty();
  if (config.sink.type != SinkType::kafka || topic.empty() || !has_brokers) return;
  try {
    const auto report = inspect_kafka(config.sink.kafka, std::vector{topic}, kRecordTimeout);
    if (!report.unreachable.empty()) throw ProgressError(report.unreachable);
    if (!report.topics.at(0).exists) return;
    write_progress_record(*make_sink(config), config.postgres.slot, std::nullopt, kRecordTimeout);
    say(fmt::format("removed the progress record of slot \"{}\" in topic \"{}\"", config.postgres.slot, topic));
  } catch (const std::runtime_error& error) {
    say(
        fmt::format("the progress record of slot \"{}\" stays in topic \"{}\": {}; a new slot of that name then needs "
                    "`walrelay recover`",
                    config.postgres.slot, topic, error.what()));
  }
}

ExitCode drop(const Config& config, const DropFlags& flags) {
  PgConnection connection(query_conninfo(config));
  const auto& slot_name = config.postgres.slot;
  const auto& publication = config.postgres.publication;
  const auto slot = read_slot(connection, slot_name);
  if (slot && slot->active) {
    throw PgError("55006", fmt::format("slot \"{}\" is in use by {}", slot_name, describe_user(*slot)),
                  "stop that relay first");
  }
  const auto question = fmt::format(
      "Drop slot \"{}\" and publication \"{}\"? Events that were not delivered can then only be had from the table.",
      slot_name, publication);
  if (!flags.yes && !agreed(question)) return ExitCode::check_failed;
  // The slot first: without its publication it could not be read any more, but would hold WAL back all the same.
  const bool had_slot = drop_slot(connection, slot_name);
  say(fmt::format("{} slot \"{}\"", had_slot ? "dropped" : "there was no", slot_name));
  remove_progress(config);
  const bool had_publication = drop_publication(connection, publication);
  say(fmt::format("{} publication \"{}\"", had_publication ? "dropped" : "there was no", publication));
  return ExitCode::done;
}

}  // namespace

ExitCode drop_command(const Config& config, const DropFlags& flags) {
  return guarded("drop", [&] { return drop(config, flags); });
}

}  // namespace walrelay
