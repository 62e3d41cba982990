#pragma once
// Compares rules with a table of the catalog, for `check` and `init`: what the router would reject row by row, found
// beforehand.

#include <span>
#include <string>
#include <vector>

#include "decoder/column_info.h"
#include "decoder/outbox_rules.h"

namespace walrelay {

// One line a problem, naming template and column, with the remedy; empty if the mapping fits. Throws RuleError like
// OutboxRouter.
[[nodiscard]] std::vector<std::string> mapping_problems(const OutboxRules& rules, std::span<const ColumnInfo> columns);

// The column that the event's id is: write-back finds a row by it. Throws RuleError if it is not one column as it is,
// if the id is not sent as a header, by which an event that was refused is told, or if the rules are for messages.
[[nodiscard]] std::string row_id_column(const OutboxRules& rules);

// The same as mapping_problems() for the columns of write-back; they are part of those as well.
[[nodiscard]] std::vector<std::string> write_back_problems(const OutboxRules& rules,
                                                           std::span<const ColumnInfo> columns);

// Every column that the templates name, each once, in the order id, topic, key, value, timestamp, headers. Optional
// ones are among them: the table may lack those. For a column list of a publication. Throws RuleError.
[[nodiscard]] std::vector<std::string> mapped_columns(const OutboxRules& rules);

}  // namespace walrelay
