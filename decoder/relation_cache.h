#pragma once
// What the server has said about its tables in this session: Relation messages, kept by id with storage of their own.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "decoder/pgoutput_messages.h"

namespace walrelay {

struct DescribedColumn {
  std::string name;
  std::uint32_t type_id = 0;  // pg_type.oid; of a domain its own
};

struct DescribedRelation {
  std::string name;  // "schema.table"
  std::vector<DescribedColumn> columns;
};

class RelationCache {
 public:
  // Keeps a copy; replaces what was known under the id. The reference is valid until clear().
  const DescribedRelation& store(const RelationMessage& message);
  [[nodiscard]] const DescribedRelation* find(RelationId id) const;  // nullptr: not described yet
  void clear() { relations_.clear(); }

 private:
  std::unordered_map<RelationId, DescribedRelation> relations_;
};

}  // namespace walrelay
