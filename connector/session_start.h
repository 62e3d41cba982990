#pragma once
// Where a new replication session starts.

#include "connector/relay.h"
#include "decoder/lsn.h"

namespace walrelay {

// Whether a relay can go on in a new session of the same history, so that what is in flight is not sent twice. Not if
// another instance has moved the slot beyond what this one received, nor if the server's log is shorter than that.
[[nodiscard]] inline bool may_resume(const Relay& relay, Lsn slot_confirmed, Lsn server_flushed) {
  return slot_confirmed <= relay.resume_position() && server_flushed >= relay.resume_position();
}

}  // namespace walrelay
