#pragma once
// What `init` has to do at a server so that the configuration's tables, role, publication and slot are there: found out
// by looking, before anything is changed.

#include <optional>
#include <string>
#include <vector>

#include "connector/commands/commands.h"
#include "connector/commands/config_proposal.h"
#include "connector/commands/publication_check.h"
#include "connector/config/config.h"
#include "connector/postgres/admin_sql.h"
#include "connector/postgres/catalog.h"

namespace walrelay {

struct InitStep {
  std::string sql;
  std::string what;  // "publication \"walrelay\" (inserts only)": for "made ..." and "cannot make ..."
  std::string who = "run init as the table's owner or an administrator";  // may run it: where the server refuses it
};

struct InitPlan {
  ServerInfo server;
  std::vector<OutboxProposal> outboxes;
  std::vector<InitStep> steps;  // in this order; the slot's, which comes last, is apart
  bool make_slot = false;
  bool enable_failover = false;
  bool slot_is_older = false;      // than the publication that the steps make
  std::vector<std::string> kept;   // what is there and fits
  std::vector<std::string> hints;  // what is superfluous or left to do
  std::vector<Problem> problems;   // what does not fit; with any of them nothing is to be changed

  [[nodiscard]] std::vector<OutboxRules> rules() const;
};

// What is to become of a slot that is there.
enum class SlotPlan : std::uint8_t {
  keep,     // if it fits; one that does not is a problem
  replace,  // by a new one; a slot of another kind or database is a problem all the same
};

// Throws PgError, and RuleError for a preset that does not exist.
[[nodiscard]] InitPlan plan_init(PgConnection& connection, const Config& config, const InitFlags& flags,
                                 SlotPlan slot = SlotPlan::keep);

}  // namespace walrelay
