#pragma once
// The messages of the pgoutput plugin, protocol version 1 with the optional Message ('M').
// Source: PostgreSQL manual, "Logical Replication Message Formats". Times are microseconds since 2000-01-01 00:00 UTC.
//
// Every string_view and span points into the decoded buffer or into the decoder that made the message: both stay valid
// until that decoder's next decode() or until the buffer is released, whichever comes first.

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "decoder/lsn.h"

namespace walrelay {

using RelationId = std::uint32_t;  // pg_class.oid

struct BeginMessage {
  Lsn commit_lsn;            // start of the commit record
  std::int64_t commit_time;  // µs since 2000-01-01
  std::uint32_t xid;
};

struct CommitMessage {
  Lsn commit_lsn;            // start of the commit record, as in Begin
  Lsn end_lsn;               // first byte after it: what is confirmed
  std::int64_t commit_time;  // µs since 2000-01-01
};

struct OriginMessage {
  Lsn commit_lsn;  // on the origin server
  std::string_view name;
};

struct RelationColumn {
  bool part_of_key;  // of the replica identity
  std::string_view name;
  std::uint32_t type_id;  // pg_type.oid; of a domain: the domain's own
  std::int32_t type_modifier;
};

struct RelationMessage {
  RelationId relation_id;
  std::string_view schema;  // the server sends "" for pg_catalog
  std::string_view name;
  char replica_identity;  // pg_class.relreplident
  std::span<const RelationColumn> columns;
};

struct TypeMessage {
  std::uint32_t type_id;
  std::string_view schema;
  std::string_view name;
};

enum class ColumnKind : char { null = 'n', unchanged_toast = 'u', text = 't', binary = 'b' };

struct ColumnValue {
  ColumnKind kind;
  std::string_view bytes;  // empty for null and unchanged_toast
};

using Row = std::span<const ColumnValue>;  // in the order of the relation's columns

struct InsertMessage {
  RelationId relation_id;
  Row row;
};

enum class OldRow : char { none = 0, key = 'K', full = 'O' };

struct UpdateMessage {
  RelationId relation_id;
  OldRow old_kind;
  Row old_row;
  Row new_row;
};

struct DeleteMessage {
  RelationId relation_id;
  OldRow old_kind;  // key or full
  Row old_row;
};

struct TruncateMessage {
  bool cascade;
  bool restart_identity;
  std::span<const RelationId> relation_ids;
};

// pg_logical_emit_message(). A non-transactional one is sent even if the transaction that wrote it rolls back.
struct LogicalMessage {
  bool transactional;
  Lsn lsn;
  std::string_view prefix;
  std::string_view content;
};

using PgoutputMessage = std::variant<BeginMessage, CommitMessage, OriginMessage, RelationMessage, TypeMessage,
                                     InsertMessage, UpdateMessage, DeleteMessage, TruncateMessage, LogicalMessage>;

}  // namespace walrelay
