// `walrelay init`.

#include <fmt/format.h>

#include "connector/commands/backfill.h"
#include "connector/commands/command_support.h"
#include "connector/commands/commands.h"
#include "connector/commands/config_proposal.h"
#include "connector/commands/init_steps.h"
#include "connector/postgres/slot_admin.h"

namespace walrelay {
namespace {

void print_sql(const Config& config, const InitFlags& flags, const InitPlan& plan) {
  std::string out;
  for (const auto& kept : plan.kept) out += fmt::format("-- {} is there\n", one_line(kept));
  for (const auto& step : plan.steps) out += fmt::format("{};\n", step.sql);
  if (plan.make_slot && flags.backfill) {
    out += fmt::format("-- Then init publishes {}, and makes the slot at the position up to which it has read them.\n",
                       flags.backfill->describe());
  } else if (plan.make_slot) {
    out += "-- After the publication, and not in a transaction that has written anything:\n";
    out += fmt::format("{};\n", create_slot_sql(config.postgres.slot));
  }
  if (plan.enable_failover) {
    out += fmt::format("-- On a connection with replication=database: {};\n",
                       enable_failover_command(config.postgres.slot));
  }
  print_out(out);
}

void make_slot(PgConnection& observer, const Config& config) {
  PgConnection creator(query_conninfo(config));
  create_slot(creator, observer, config.postgres.slot, say);
  const auto slot = read_slot(observer, config.postgres.slot);
  say(fmt::format("made slot \"{}\" at {}", config.postgres.slot,
                  slot && slot->confirmed_lsn ? slot->confirmed_lsn->to_string() : "an unknown position"));
}

void warn_of_old_slot(PgConnection& connection, const Config& config) {
  const auto slot = read_slot(connection, config.postgres.slot);
  if (!slot || compare_ages(connection, *slot, config.postgres.publication) == PublicationAge::fits) return;
  say(fmt::format(
      "warning: slot \"{}\" stands before publication \"{}\" was made, and changes from before it cannot be decoded; "
      "`walrelay check` tells more",
      config.postgres.slot, config.postgres.publication));
}

ExitCode init(const Config& config, const InitFlags& flags) {
  PgConnection connection(query_conninfo(config));
  const auto plan = plan_init(connection, config, flags);
  for (const auto& hint : plan.hints) say(hint);
  if (!plan.problems.empty()) return report_problems(plan);
  if (flags.print) {
    print_sql(config, flags, plan);
    return ExitCode::done;
  }
  Config planned = config;
  planned.outboxes = plan.rules();
  if (flags.backfill && !sink_answers(planned)) return ExitCode::check_failed;
  run_steps(connection, plan);
  if (plan.make_slot && flags.backfill) {
    backfill(connection, planned, *flags.backfill, [](PgConnection&) {});
  } else if (plan.make_slot) {
    make_slot(connection, config);
  }
  if (plan.enable_failover) {
    enable_failover(replication_conninfo(config.postgres.dsn, config.postgres.slot), config.postgres.slot);
    say(fmt::format("made slot \"{}\" a failover slot", config.postgres.slot));
  }
  if (plan.slot_is_older) warn_of_old_slot(connection, config);
  print_out(propose_config(config, plan.outboxes, flags.role));
  return ExitCode::done;
}

}  // namespace

ExitCode init_command(const Config& config, const InitFlags& flags) {
  return guarded("init", [&] {
    try {
      return init(config, flags);
    } catch (const PublishStopped& stopped) {
      say(fmt::format("walrelay init: {}; no slot was made: init begins with the rows again", stopped.what()));
      return stopped.code();
    }
  });
}

}  // namespace walrelay
