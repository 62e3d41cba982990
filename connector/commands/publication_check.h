#pragma once
// Compares a publication, and the mapping, with the tables that they are for. Pure.

#include <optional>
#include <string>
#include <vector>

#include "connector/postgres/catalog.h"
#include "decoder/outbox_rules.h"

namespace walrelay {

struct Problem {
  std::string what;    // one line that names the thing and the reason
  std::string remedy;  // what to do, where possible as SQL
};

// Why rows inserted into the table do not come under its name, or not all of them; empty if they do.
[[nodiscard]] std::vector<Problem> coverage_problems(const std::string& publication, const PublicationInfo& facts,
                                                     const TableInfo& table);

// What becomes of a partition's unread rows once it is detached, where that is not told from any other table's; nothing
// if they are seen.
[[nodiscard]] std::optional<Problem> detachment_problem(const std::string& publication, const PublicationInfo& facts,
                                                        const TableInfo& table);

// Mapped columns that a column list leaves out. `mapped`: those that the table has.
[[nodiscard]] std::vector<Problem> column_list_problems(const std::string& publication, const PublicationInfo& facts,
                                                        const TableInfo& table, const std::vector<std::string>& mapped);

// Why a slot is of no use to this relay; empty if it is.
[[nodiscard]] std::vector<Problem> slot_problems(const SlotInfo& slot, const ServerInfo& server);

// Where rows of the table cannot be mapped, or written back to; empty if they can. Throws RuleError like OutboxRouter.
[[nodiscard]] std::vector<Problem> mapping_faults(const OutboxRules& rules, const TableInfo& table);

// A table that logical decoding never sees; empty if it does.
[[nodiscard]] std::vector<Problem> table_problems(const TableInfo& table);

}  // namespace walrelay
