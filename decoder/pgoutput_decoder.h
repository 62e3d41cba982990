#pragma once
// Bytes of one XLogData payload → one pgoutput message (protocol 1, text or binary values).
// Source: PostgreSQL manual, "Logical Replication Message Formats".

#include <string_view>
#include <vector>

#include "decoder/decode_error.h"
#include "decoder/pgoutput_messages.h"
#include "decoder/wire_reader.h"

namespace walrelay {

// Trusts no byte: any input gives a message or an error, in time linear in its size and memory of at most 24 bytes per
// input byte. The memory is kept, so that decoding allocates nothing once the widest row has been seen. Knows nothing
// of earlier messages: whether a row fits its relation is for the caller to check. One thread at a time.
class PgoutputDecoder {
 public:
  PgoutputDecoder() = default;
  PgoutputDecoder(const PgoutputDecoder&) = delete;  // a copy's messages would point into the original
  PgoutputDecoder& operator=(const PgoutputDecoder&) = delete;

  // `out` points into `bytes` and into this object, until the next decode(). On an error it means nothing.
  // Offsets in the error count from the start of `bytes`.
  [[nodiscard]] DecodeError decode(std::string_view bytes, PgoutputMessage& out);

 private:
  void read_message(WireReader& in, PgoutputMessage& out);
  RelationMessage read_relation(WireReader& in);
  InsertMessage read_insert(WireReader& in);
  UpdateMessage read_update(WireReader& in);
  DeleteMessage read_delete(WireReader& in);
  TruncateMessage read_truncate(WireReader& in);

  std::vector<RelationColumn> columns_;
  std::vector<ColumnValue> old_row_;
  std::vector<ColumnValue> new_row_;
  std::vector<RelationId> relation_ids_;
};

}  // namespace walrelay
