#pragma once
// Row + rules -> event, or why there is none. Pure: no clock, no log, no thread; the same input gives the same event.
//
// Session: reset() when a replication connection starts, then every Relation message goes to relation() and every
// Insert and Message to route(), in the order of the stream. PostgreSQL manual, "Logical Replication Message Formats".
// Ownership: what route() returns points into the router, the decoder and the frame, and is valid until the next call
// of the router or the next frame, whichever comes first. Once its buffers have grown, route() does not allocate, and
// copies a value only where its text changes (bytea, JSON pointers, filters, templates of several parts). Errors: the
// constructor throws RuleError; nothing else throws but std::bad_alloc. A row that cannot be mapped is data.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/outbox_event.h"
#include "decoder/outbox_rules.h"
#include "decoder/pgoutput_messages.h"
#include "decoder/rejection.h"

namespace walrelay {

enum class RelationUse : std::uint8_t {
  outbox,   // its rows become events
  ignored,  // resolved to no outbox: its rows are ignored
  unknown,  // not configured under its own name. It may be a partition: look up its ancestors, then resolve()
};

enum class RouteStatus : std::uint8_t {
  event,     // publish Routed::event
  ignored,   // not meant to be published: see Routed::ignored
  rejected,  // meant to be, but impossible: see Routed::rejection
};

enum class IgnoreReason : std::uint8_t {
  none,
  not_an_outbox,      // a published table without an [[outbox]]
  other_prefix,       // a message under a prefix that no [[outbox]] names
  not_transactional,  // pg_logical_emit_message(false, ...): it would surface even if its transaction rolls back
};

struct Routed {
  RouteStatus status = RouteStatus::ignored;
  IgnoreReason ignored = IgnoreReason::none;
  const Rejection* rejection =
      nullptr;  // set if and only if rejected; names the outbox, the id if known, the reason, the remedy
  // Whole if status is event. If rejected: what could be filled nevertheless (a topic that is not known is ""), for the
  // policy.
  OutboxEvent event;
};

class OutboxRouter {
 public:
  // Throws RuleError: a template that does not compile, no topic or value, two outboxes for one table or prefix.
  // Presets must have been filled in before (presets.h).
  explicit OutboxRouter(const std::vector<OutboxRules>& rules);
  OutboxRouter(OutboxRouter&&) noexcept;
  OutboxRouter& operator=(OutboxRouter&&) noexcept;
  ~OutboxRouter();

  // Forgets what relations look like: the server describes them again in a new session. Which outbox a table was is
  // remembered with its id, also because a session that goes on in a transaction has to find the same events in it.
  void reset();

  // Binds the mapping to the columns by name. A mapped column that is missing makes each row of the table a rejection.
  RelationUse relation(const RelationMessage& message);

  // The answer to RelationUse::unknown: the ancestor in the partition tree that is configured ("schema.table"), or
  // nothing if there is none and the table can be ignored. Not to be called for a table that the catalog no longer has:
  // whether it was a partition of an outbox cannot be told then, and its rows stay rejections, so that no gap is
  // hidden.
  RelationUse resolve(RelationId relation_id, const std::optional<std::string>& ancestor);

  // `commit_time`: of the row's transaction, microseconds since 2000-01-01 UTC.
  [[nodiscard]] Routed route(const InsertMessage& insert, std::int64_t commit_time);
  [[nodiscard]] Routed route(const LogicalMessage& message, std::int64_t commit_time);

  // The outbox that rows of this relation belong to, e.g. to count an ignored UPDATE.
  [[nodiscard]] std::optional<std::size_t> outbox_of(RelationId relation_id) const;
  // "schema.table" as the server described it; "" if it did not.
  [[nodiscard]] std::string relation_name(RelationId relation_id) const;

  [[nodiscard]] std::size_t outbox_count() const;
  // For messages and metric labels: the table, or the message prefix.
  [[nodiscard]] std::string_view outbox_name(std::size_t outbox) const;
  // The header that carries the event's id; "" if none does.
  [[nodiscard]] std::string_view id_header(std::size_t outbox) const;
  // Whether any [[outbox]] wants messages: the option `messages` of START_REPLICATION (PostgreSQL 14+).
  [[nodiscard]] bool wants_messages() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace walrelay
