// `walrelay recover`: the way on after a slot was lost, dropped or made anew by somebody else.

#include <fmt/format.h>

#include <algorithm>

#include "connector/commands/backfill.h"
#include "connector/commands/command_support.h"
#include "connector/commands/commands.h"
#include "connector/commands/init_plan.h"
#include "connector/commands/init_steps.h"
#include "connector/postgres/slot_admin.h"

namespace walrelay {
namespace {

using Rows = BackfillChoice::Rows;

// What repeats least of what surely misses nothing.
BackfillChoice default_choice(const Config& config) {
  const auto& outboxes = config.outboxes;
  const bool told = std::all_of(outboxes.begin(), outboxes.end(), [](const OutboxRules& rules) {
    return rules.table.empty() || !rules.processed_at.empty();
  });
  return {told ? Rows::unprocessed : Rows::all, 0};
}

std::string describe(const std::optional<SlotInfo>& slot, const std::string& name) {
  if (!slot) return fmt::format("slot \"{}\" does not exist", name);
  const auto confirmed = slot->confirmed_lsn ? slot->confirmed_lsn->to_string() : "an unknown position";
  if (slot->lost()) return fmt::format("slot \"{}\" is lost; it was confirmed up to {}", name, confirmed);
  return fmt::format(
      "slot \"{}\" can be read; it is confirmed up to {}, and what was committed since is dropped with it", name,
      confirmed);
}

void refuse_slot_in_use(const std::optional<SlotInfo>& slot) {
  if (!slot || !slot->active) return;
  throw PgError("55006", fmt::format("slot \"{}\" is in use by {}", slot->name, describe_user(*slot)),
                "stop that relay first");
}

ExitCode recover(const Config& config, const RecoverFlags& flags) {
  PgConnection connection(query_conninfo(config));
  const auto& name = config.postgres.slot;
  const auto old = read_slot(connection, name);
  refuse_slot_in_use(old);
  const auto choice = flags.backfill.value_or(default_choice(config));
  InitFlags init;
  init.backfill = choice;
  const auto plan = plan_init(connection, config, init, SlotPlan::replace);
  for (const auto& hint : plan.hints) say(hint);
  if (!plan.problems.empty()) return report_problems(plan);
  say(describe(old, name));
  if (!flags.yes && !agreed(fmt::format("Make it anew, and publish {} of the outbox?", choice.describe()))) {
    return ExitCode::check_failed;
  }
  Config planned = config;
  planned.outboxes = plan.rules();
  if (!sink_answers(planned)) return ExitCode::check_failed;
  run_steps(connection, plan);
  // A lost slot is of no use, and its place may be needed; one that can be read stays until the rows are published.
  if (old && old->lost() && drop_slot(connection, name)) say(fmt::format("dropped slot \"{}\"", name));
  const auto position = backfill(connection, planned, choice, [&](PgConnection& finisher) {
    if (drop_slot(finisher, name)) say(fmt::format("dropped slot \"{}\"", name));
  });
  if (plan.enable_failover) {  // as the old one was
    enable_failover(replication_conninfo(config.postgres.dsn, name), name);
    say(fmt::format("made slot \"{}\" a failover slot", name));
  }
  if (choice.rows == Rows::none) {
    say(fmt::format("a gap is accepted: rows committed from {} to {} are not published",
                    old && old->confirmed_lsn ? old->confirmed_lsn->to_string() : "an unknown position",
                    position.to_string()));
  }
  return ExitCode::done;
}

}  // namespace

ExitCode recover_command(const Config& config, const RecoverFlags& flags) {
  return guarded("recover", [&] {
    try {
      return recover(config, flags);
    } catch (const PublishStopped& stopped) {
      say(fmt::format("walrelay recover: {}; no slot was made: recover begins with the rows again", stopped.what()));
      return stopped.code();
    }
  });
}

}  // namespace walrelay
