#include "connector/commands/init_steps.h"

#include <fmt/format.h>

#include "connector/commands/command_support.h"
#include "connector/postgres/pg_transaction.h"

namespace walrelay {
namespace {

void run_step(PgConnection& connection, const InitStep& step) {
  try {
    PgTransaction transaction(connection);
    connection.exec("SET LOCAL lock_timeout = '8s'");
    connection.exec(step.sql);
    transaction.commit();
    say("made " + step.what);
  } catch (const PgError& error) {
    std::string remedy;
    if (error.sqlstate() == "42501") remedy = step.who + ", or have them run the SQL of init --print";
    if (error.sqlstate() == "55P03")
      remedy = "another session holds a lock on the table: end its transaction, then run init again";
    throw PgError(error.sqlstate(), fmt::format("cannot make {}: {}", step.what, error.reason()), std::move(remedy));
  }
}

}  // namespace

void run_steps(PgConnection& connection, const InitPlan& plan) {
  for (const auto& kept : plan.kept) say("kept " + kept);
  for (const auto& step : plan.steps) run_step(connection, step);
}

ExitCode report_problems(const InitPlan& plan) {
  for (const auto& problem : plan.problems) say(fmt::format("error: {}\n  remedy: {}", problem.what, problem.remedy));
  say("nothing was changed");
  const bool cannot_work = plan.server.wal_level != "logical" || plan.server.in_recovery;
  return cannot_work ? ExitCode::cannot_start : ExitCode::check_failed;
}

}  // namespace walrelay
