#pragma once
// Carries out what init_plan.h has found to be done, telling each step.

#include "connector/commands/init_plan.h"
#include "connector/exit_code.h"

namespace walrelay {

// Each step in a transaction of its own; the first that fails ends it. Throws PgError with the remedy.
void run_steps(PgConnection& connection, const InitPlan& plan);

// Says what does not fit and that nothing was changed.
[[nodiscard]] ExitCode report_problems(const InitPlan& plan);

}  // namespace walrelay
