#pragma once
// The configuration file that `init` proposes: what differs from the defaults, no secret in it. Pure.

#include <span>
#include <string>
#include <vector>

#include "connector/config/config.h"
#include "decoder/column_info.h"

namespace walrelay {

struct OutboxProposal {
  OutboxRules rules;                // with its preset filled in
  std::vector<ColumnInfo> columns;  // of its table; none of messages
};

// `role`: whom the relay connects as, "" = as in the connection string. Columns that a polling worker marks rows in,
// and that the rules do not name, are proposed as a comment.
[[nodiscard]] std::string propose_config(const Config& config, std::span<const OutboxProposal> outboxes,
                                         const std::string& role);

}  // namespace walrelay
