#include "connector/commands/backfill.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "connector/commands/check.h"
#include "connector/commands/command_support.h"
#include "connector/observe/log.h"
#include "connector/postgres/slot_admin.h"
#include "connector/progress_store.h"
#include "connector/publish/publish_rows.h"
#include "connector/sink_factory.h"

namespace walrelay {

namespace {

// Of the server that `holder`, a replication connection, is connected to.
ProgressRecord first_record(PgConnection& holder, const std::string& slot) {
  const auto identity = holder.exec_simple("IDENTIFY_SYSTEM");
  ProgressRecord record;
  record.slot = slot;
  record.system_identifier = identity[0].text("systemid");
  record.timeline = static_cast<std::uint32_t>(identity[0].number("timeline"));
  record.database = identity[0].text("dbname");
  return record;
}

// The record of the slot that was there before would make a gap of the new one.
void replace_record(const Config& config, ProgressRecord record) {
  constexpr std::chrono::milliseconds kBrokerTimeout{30'000};
  const auto sink = make_sink(config);
  const auto stored = read_progress_records(*sink, record.slot, kBrokerTimeout);
  if (!stored || stored->empty()) return;
  if (const auto last = choose_progress(*stored)) record.generation = last->generation + 1;
  write_progress_record(*sink, record.slot, record, kBrokerTimeout);
  say(fmt::format("replaced the progress record in topic \"{}\"", config.delivery.progress_topic));
}

void publish(const Config& config, const BackfillChoice& choice, const TemporarySlot& slot) {
  say(fmt::format("publishing {} that were committed before {}; later ones will come from the slot", choice.describe(),
                  slot.position.to_string()));
  for (const auto& rules : config.outboxes) {
    if (rules.messages.empty()) continue;
    say(fmt::format("messages \"{}\" are in no table: those from before that position are not published",
                    rules.messages));
  }
  PgConnection reader(query_conninfo(config));
  const auto published = publish_rows(reader, config, {"backfill", choice.filter(), slot.snapshot, slot.position});
  say(published.events.to_string());
  if (const auto marks = published.marks.to_string(); !marks.empty()) say(marks);
}

}  // namespace

bool sink_answers(const Config& config) {
  const auto findings = check_sink(config);
  for (const auto& finding : findings.list()) {
    if (finding.level != FindingLevel::error) continue;
    say(fmt::format("error: {}{}", finding.message, finding.remedy.empty() ? "" : "\n  remedy: " + finding.remedy));
  }
  if (findings.failed()) say("nothing was changed");
  return !findings.failed();
}

Lsn backfill(PgConnection& connection, const Config& config, const BackfillChoice& choice,
             const std::function<void(PgConnection&)>& before_slot) {
  configure_log(config.log);
  const auto& slot = config.postgres.slot;
  PgConnection holder(replication_conninfo(config.postgres.dsn, slot));
  auto progress = first_record(holder, slot);
  const auto name = fmt::format("walrelay_backfill_{:08x}", std::random_device{}());
  const auto temporary = create_temporary_slot(holder, connection, name, say);
  if (choice.rows != BackfillChoice::Rows::none) publish(config, choice, temporary);
  PgConnection finisher(query_conninfo(config));  // `connection` may have been idle for longer than it is let
  before_slot(finisher);
  make_permanent(finisher, temporary, slot);
  say(fmt::format("made slot \"{}\" at {}", slot, temporary.position.to_string()));
  progress.position = temporary.position;
  replace_record(config, std::move(progress));
  return temporary.position;
}

}  // namespace walrelay
