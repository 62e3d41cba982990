#include "decoder/outbox_router.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "decoder/event_filler.h"
#include "decoder/message_fields.h"
#include "decoder/outbox_mapping.h"
#include "decoder/relation_cache.h"
#include "decoder/rule_error.h"

namespace walrelay {
namespace {

struct Outbox {
  OutboxMapping mapping;
  std::optional<MessageFields> fields;  // of messages only
  Binding field_binding;
};

struct BoundRelation {
  RelationUse use = RelationUse::unknown;
  std::size_t outbox = 0;
  Binding binding;
};

Outbox compile_outbox(const OutboxRules& rules) {
  Outbox outbox{compile_mapping(rules), std::nullopt, {}};
  if (!outbox.mapping.of_messages) return outbox;
  std::vector<std::string> referenced;
  for (const auto& part : outbox.mapping.parts) {
    for (const auto& reference : part.value.references()) referenced.push_back(reference.column);
  }
  outbox.fields.emplace(referenced);
  outbox.field_binding = bind(outbox.mapping, outbox.fields->columns());
  return outbox;
}

Routed ignored(IgnoreReason reason) { return {RouteStatus::ignored, reason, nullptr, {}}; }

std::string_view describe(MessageError error) {
  return error == MessageError::not_an_object
             ? "the message is not one JSON object; write {\"topic\":...,\"key\":...,\"payload\":...}"
             : "\"headers\" of the message is not a JSON object; write {\"name\":\"value\"}";
}

}  // namespace

struct OutboxRouter::State {
  std::vector<Outbox> outboxes;
  RelationCache relations;
  std::unordered_map<RelationId, BoundRelation> bound;
  std::unordered_map<RelationId, std::size_t> known;  // outboxes, over all sessions
  EventFiller filler;
  Rejection rejection;  // of rows that belong to no outbox yet

  [[nodiscard]] std::optional<std::size_t> find(std::string_view name, bool of_messages) const {
    for (std::size_t i = 0; i < outboxes.size(); ++i) {
      const auto& mapping = outboxes[i].mapping;
      if (mapping.of_messages == of_messages && mapping.name == name) return i;
    }
    return std::nullopt;
  }

  RelationUse bind_to(std::size_t outbox, const DescribedRelation& relation, BoundRelation& target) const {
    target = {RelationUse::outbox, outbox, bind(outboxes[outbox].mapping, relation.columns)};
    return target.use;
  }

  // A gap must not be hidden: rows of a table that nothing is known about are not ignored.
  Routed unresolved(RelationId id) {
    const auto* const relation = relations.find(id);
    rejection.failure_class = FailureClass::mapping;
    rejection.reason =
        relation
            ? fmt::format(
                  "table {} is published but is no [[outbox]], and what it was a partition of cannot be found out any "
                  "more, as it was dropped or detached; attach it again, and let the publication use "
                  "publish_via_partition_root",
                  relation->name)
            : fmt::format(
                  "the server sent a row of relation {} without describing it; this is an error of the server or of "
                  "walrelay",
                  id);
    return {RouteStatus::rejected, IgnoreReason::none, &rejection, {}};
  }
};

OutboxRouter::OutboxRouter(const std::vector<OutboxRules>& rules) : state_(std::make_unique<State>()) {
  for (const auto& one : rules) {
    auto outbox = compile_outbox(one);
    if (state_->find(outbox.mapping.name, outbox.mapping.of_messages)) {
      throw RuleError(fmt::format("[[outbox]] {}: configured twice; remove one of the two", outbox.mapping.name));
    }
    state_->outboxes.push_back(std::move(outbox));
  }
}

OutboxRouter::OutboxRouter(OutboxRouter&&) noexcept = default;
OutboxRouter& OutboxRouter::operator=(OutboxRouter&&) noexcept = default;
OutboxRouter::~OutboxRouter() = default;

void OutboxRouter::reset() {
  state_->relations.clear();
  state_->bound.clear();
}

// A table keeps its outbox even if it is renamed, or detached from the root that it was found by: it is the same table,
// and its rows are still wanted.
RelationUse OutboxRouter::relation(const RelationMessage& message) {
  const auto& described = state_->relations.store(message);
  auto& bound = state_->bound[message.relation_id];
  const auto by_name = state_->find(described.name, false);
  if (by_name) {
    state_->known[message.relation_id] = *by_name;
    return state_->bind_to(*by_name, described, bound);
  }
  if (const auto known = state_->known.find(message.relation_id); known != state_->known.end())
    return state_->bind_to(known->second, described, bound);
  bound.use = RelationUse::unknown;  // what was ignored may have become a partition
  return bound.use;
}

RelationUse OutboxRouter::resolve(RelationId relation_id, const std::optional<std::string>& ancestor) {
  const auto* const described = state_->relations.find(relation_id);
  if (!described) return RelationUse::unknown;
  auto& bound = state_->bound[relation_id];
  const auto outbox = ancestor ? state_->find(*ancestor, false) : std::nullopt;
  if (!outbox) return bound.use = RelationUse::ignored;
  state_->known[relation_id] = *outbox;
  return state_->bind_to(*outbox, *described, bound);
}

Routed OutboxRouter::route(const InsertMessage& insert, std::int64_t commit_time) {
  const auto found = state_->bound.find(insert.relation_id);
  if (found == state_->bound.end() || found->second.use == RelationUse::unknown)
    return state_->unresolved(insert.relation_id);
  const auto& bound = found->second;
  if (bound.use == RelationUse::ignored) return ignored(IgnoreReason::not_an_outbox);
  auto& filler = state_->filler;
  filler.begin(bound.outbox, state_->outboxes[bound.outbox].mapping, commit_time);
  filler.fill(bound.binding, insert.row);
  return filler.finish();
}

Routed OutboxRouter::route(const LogicalMessage& message, std::int64_t commit_time) {
  const auto index = state_->find(message.prefix, true);
  if (!index) return ignored(IgnoreReason::other_prefix);
  if (!message.transactional) return ignored(IgnoreReason::not_transactional);
  auto& outbox = state_->outboxes[*index];
  auto& filler = state_->filler;
  filler.begin(*index, outbox.mapping, commit_time);
  if (const auto error = outbox.fields->parse(message.content); error != MessageError::none) {
    filler.reject(FailureClass::mapping, describe(error));
  }
  filler.fill(outbox.field_binding, outbox.fields->row());
  filler.add_headers(outbox.fields->headers());
  return filler.finish();
}

std::optional<std::size_t> OutboxRouter::outbox_of(RelationId relation_id) const {
  const auto found = state_->bound.find(relation_id);
  if (found == state_->bound.end() || found->second.use != RelationUse::outbox) return std::nullopt;
  return found->second.outbox;
}

std::string OutboxRouter::relation_name(RelationId relation_id) const {
  const auto* const relation = state_->relations.find(relation_id);
  return relation ? relation->name : "";
}

std::size_t OutboxRouter::outbox_count() const { return state_->outboxes.size(); }

std::string_view OutboxRouter::outbox_name(std::size_t outbox) const {
  return state_->outboxes.at(outbox).mapping.name;
}

std::string_view OutboxRouter::id_header(std::size_t outbox) const {
  const auto& parts = state_->outboxes.at(outbox).mapping.parts;
  const auto found = std::ranges::find(parts, Repeats::id, &MappedPart::repeats);
  return found == parts.end() ? std::string_view{} : std::string_view(found->header);
}

bool OutboxRouter::wants_messages() const {
  return std::any_of(state_->outboxes.begin(), state_->outboxes.end(),
                     [](const auto& o) { return o.mapping.of_messages; });
}

}  // namespace walrelay
