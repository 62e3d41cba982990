#pragma once
// A slot that begins where rows that were there before it have been published: nothing is missed between table and
// stream, and nothing comes twice.
//
// A temporary slot exports a snapshot; the rows that it sees are published and every acknowledgement is awaited; only
// then is the slot copied to its permanent name. The temporary one goes with its connection, so a crash at any point
// leaves the finished slot or nothing. (If it comes before the progress record is replaced: a slot that `run` refuses.)
// PostgreSQL manual, "Snapshot Synchronization Functions".

#include <functional>

#include "connector/backfill_choice.h"
#include "connector/config/config.h"
#include "connector/publish/event_publisher.h"

namespace walrelay {

class PgConnection;

// Whether the sink can be published to as far as can be told beforehand; says what is wrong if not.
[[nodiscard]] bool sink_answers(const Config& config);

// The [[outbox]]es of `config` with their presets filled in; `connection` is an ordinary one. `before_slot` is called
// when the rows are published and the name is needed. Returns where the slot begins. Says what it does. Throws
// PublishStopped (no slot was made) and as publish_rows().
Lsn backfill(PgConnection& connection, const Config& config, const BackfillChoice& choice,
             const std::function<void(PgConnection&)>& before_slot);

}  // namespace walrelay
