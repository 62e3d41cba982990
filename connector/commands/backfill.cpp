#include "connector/commands/backfill.h"

#include <fmt/format.h>

#include <random>

#include "connector/commands/check.h"
#include "connector/commands/command_support.h"
#include "connector/observe/log.h"
#include "connector/postgres/slot_admin.h"
#include "connector/publish/publish_rows.h"

namespace walrelay {

bool sink_answers(const Config& config) {
  const auto findings = check_sink(config);
  for (const auto& finding : findings.list()) {
    if (finding.level != FindingLevel::error) continue;
    say(fmt::format("error: {}{}", finding.message, finding.remedy.empty() ? "" : "\n  remedy: " + finding.remedy));
  }
  if (findings.failed()) say("nothing was changed");
  return !findings.failed();
}

void backfill(PgConnection& connection, const Config& config, const BackfillChoice& choice,
              const std::function<void(PgConnection&)>& before_slot) {
  configure_log(config.log);
  const auto& slot = config.postgres.slot;
  PgConnection holder(replication_conninfo(config.postgres.dsn, slot));
  const auto name = fmt::format("walrelay_backfill_{:08x}", std::random_device{}());
  const auto temporary = create_temporary_slot(holder, connection, name, say);
  say(fmt::format("publishing {} that were committed before {}; later ones will come from the slot", choice.describe(),
                  temporary.position.to_string()));
  if (choice.rows != BackfillChoice::Rows::none) {
    PgConnection reader(query_conninfo(config));
    const auto tally =
        publish_rows(reader, config, {"backfill", choice.filter(), temporary.snapshot, temporary.position});
    say(tally.to_string());
  }
  PgConnection finisher(query_conninfo(config));  // `connection` may have been idle for longer than it is let
  before_slot(finisher);
  make_permanent(finisher, temporary, slot);
  say(fmt::format("made slot \"{}\" at {}", slot, temporary.position.to_string()));
}

}  // namespace walrelay
