#include "decoder/pgoutput_decoder.h"

#include <cstddef>
#include <cstdint>

namespace walrelay {
namespace {

// The first byte of each message.
enum class Tag : std::uint8_t {
  begin = 'B',
  commit = 'C',
  origin = 'O',
  relation = 'R',
  type = 'Y',
  insert = 'I',
  update = 'U',
  delete_row = 'D',
  truncate = 'T',
  logical_message = 'M',
  // Protocol 2 and later; never asked for.
  stream_start = 'S',
  stream_stop = 'E',
  stream_commit = 'c',
  stream_abort = 'A',
  begin_prepare = 'b',
  prepare = 'P',
  commit_prepared = 'K',
  rollback_prepared = 'r',
  stream_prepare = 'p',
};

constexpr char kNewRow = 'N';
constexpr std::uint8_t kPartOfKey = 1;  // RelationColumn
constexpr std::uint8_t kCascade = 1;    // Truncate
constexpr std::uint8_t kRestartIdentity = 2;
constexpr std::uint8_t kTransactional = 1;   // Message
constexpr std::size_t kColumnMinBytes = 10;  // flags, empty name with its zero, type, modifier
constexpr std::size_t kValueMinBytes = 1;    // the kind alone

BeginMessage read_begin(WireReader& in) { return {.commit_lsn = in.lsn(), .commit_time = in.i64(), .xid = in.u32()}; }

CommitMessage read_commit(WireReader& in) {
  in.flags(0);  // unused so far
  return {.commit_lsn = in.lsn(), .end_lsn = in.lsn(), .commit_time = in.i64()};
}

OriginMessage read_origin(WireReader& in) { return {.commit_lsn = in.lsn(), .name = in.c_string()}; }

TypeMessage read_type(WireReader& in) { return {.type_id = in.u32(), .schema = in.c_string(), .name = in.c_string()}; }

LogicalMessage read_logical_message(WireReader& in) {
  return {.transactional = in.flags(kTransactional) != 0,
          .lsn = in.lsn(),
          .prefix = in.c_string(),
          .content = in.counted_bytes()};
}

RelationColumn read_column(WireReader& in) {
  return {
      .part_of_key = in.flags(kPartOfKey) != 0, .name = in.c_string(), .type_id = in.u32(), .type_modifier = in.i32()};
}

ColumnValue read_value(WireReader& in) {
  const auto kind = static_cast<ColumnKind>(in.one_of("nutb"));
  const bool has_bytes = kind == ColumnKind::text || kind == ColumnKind::binary;
  return {.kind = kind, .bytes = has_bytes ? in.counted_bytes() : std::string_view{}};
}

Row read_row(WireReader& in, std::vector<ColumnValue>& row) {
  const auto values = in.count16(kValueMinBytes);
  row.clear();
  row.reserve(values);
  for (std::size_t i = 0; i < values && in.ok(); ++i) row.push_back(read_value(in));
  return row;
}

}  // namespace

DecodeError PgoutputDecoder::decode(std::string_view bytes, PgoutputMessage& out) {
  WireReader in(bytes);
  read_message(in, out);
  in.expect_end();
  return in.error();
}

void PgoutputDecoder::read_message(WireReader& in, PgoutputMessage& out) {
  const auto tag = in.u8();
  // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): any byte may come, the unknown ones leave the switch
  switch (static_cast<Tag>(tag)) {
    case Tag::begin:
      out = read_begin(in);
      return;
    case Tag::commit:
      out = read_commit(in);
      return;
    case Tag::origin:
      out = read_origin(in);
      return;
    case Tag::relation:
      out = read_relation(in);
      return;
    case Tag::type:
      out = read_type(in);
      return;
    case Tag::insert:
      out = read_insert(in);
      return;
    case Tag::update:
      out = read_update(in);
      return;
    case Tag::delete_row:
      out = read_delete(in);
      return;
    case Tag::truncate:
      out = read_truncate(in);
      return;
    case Tag::logical_message:
      out = read_logical_message(in);
      return;
    case Tag::stream_start:
    case Tag::stream_stop:
    case Tag::stream_commit:
    case Tag::stream_abort:
      in.fail(DecodeErrorKind::streaming_message, 0, tag);
      return;
    case Tag::begin_prepare:
    case Tag::prepare:
    case Tag::commit_prepared:
    case Tag::rollback_prepared:
    case Tag::stream_prepare:
      in.fail(DecodeErrorKind::two_phase_message, 0, tag);
      return;
  }
  in.fail(DecodeErrorKind::unknown_tag, 0, tag);
}

RelationMessage PgoutputDecoder::read_relation(WireReader& in) {
  RelationMessage relation{.relation_id = in.u32(),
                           .schema = in.c_string(),
                           .name = in.c_string(),
                           .replica_identity = in.one_of("dnfi"),
                           .columns = {}};
  const auto columns = in.count16(kColumnMinBytes);
  columns_.clear();
  columns_.reserve(columns);
  for (std::size_t i = 0; i < columns && in.ok(); ++i) columns_.push_back(read_column(in));
  relation.columns = columns_;
  return relation;
}

InsertMessage PgoutputDecoder::read_insert(WireReader& in) {
  InsertMessage insert{.relation_id = in.u32(), .row = {}};
  in.one_of({&kNewRow, 1});
  insert.row = read_row(in, new_row_);
  return insert;
}

UpdateMessage PgoutputDecoder::read_update(WireReader& in) {
  UpdateMessage update{.relation_id = in.u32(), .old_kind = OldRow::none, .old_row = {}, .new_row = {}};
  const char marker = in.one_of("KON");
  if (marker != kNewRow) {
    update.old_kind = static_cast<OldRow>(marker);
    update.old_row = read_row(in, old_row_);
    in.one_of({&kNewRow, 1});
  }
  update.new_row = read_row(in, new_row_);
  return update;
}

DeleteMessage PgoutputDecoder::read_delete(WireReader& in) {
  DeleteMessage deletion{.relation_id = in.u32(), .old_kind = static_cast<OldRow>(in.one_of("KO")), .old_row = {}};
  deletion.old_row = read_row(in, old_row_);
  return deletion;
}

// The count stands before the flags, the relations after them: the flag byte is no room for a relation.
TruncateMessage PgoutputDecoder::read_truncate(WireReader& in) {
  const auto relations = in.count32(sizeof(RelationId));
  const auto flags = in.flags(kCascade | kRestartIdentity);
  relation_ids_.clear();
  relation_ids_.reserve(relations);
  for (std::size_t i = 0; i < relations && in.ok(); ++i) relation_ids_.push_back(in.u32());
  return {.cascade = (flags & kCascade) != 0,
          .restart_identity = (flags & kRestartIdentity) != 0,
          .relation_ids = relation_ids_};
}

}  // namespace walrelay
