#include "decoder/relation_cache.h"

#include <fmt/format.h>

namespace walrelay {

const DescribedRelation& RelationCache::store(const RelationMessage& message) {
  auto& relation = relations_[message.relation_id];
  relation.name = fmt::format("{}.{}", message.schema.empty() ? "pg_catalog" : message.schema, message.name);
  relation.columns.clear();
  for (const auto& column : message.columns) relation.columns.push_back({std::string(column.name), column.type_id});
  return relation;
}

const DescribedRelation* RelationCache::find(RelationId id) const {
  const auto found = relations_.find(id);
  return found == relations_.end() ? nullptr : &found->second;
}

}  // namespace walrelay
