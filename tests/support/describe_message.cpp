#include "support/describe_message.h"

#include <fmt/format.h>

namespace walrelay::test {
namespace {

std::string describe_row(Row row) {
  std::string text = "(";
  for (const auto& value : row) {
    if (text.size() > 1) text += ' ';
    text += static_cast<char>(value.kind);
    const bool has_bytes = value.kind == ColumnKind::text || value.kind == ColumnKind::binary;
    if (has_bytes || !value.bytes.empty()) text += quoted(value.bytes);
  }
  return text + ')';
}

std::string describe_old(OldRow kind, Row row) {
  return kind == OldRow::none ? std::string{} : fmt::format(" {}{}", static_cast<char>(kind), describe_row(row));
}

struct Describer {
  std::string operator()(const BeginMessage& m) const {
    return fmt::format("begin lsn={} time={} xid={}", m.commit_lsn.to_string(), m.commit_time, m.xid);
  }
  std::string operator()(const CommitMessage& m) const {
    return fmt::format("commit lsn={} end={} time={}", m.commit_lsn.to_string(), m.end_lsn.to_string(), m.commit_time);
  }
  std::string operator()(const OriginMessage& m) const {
    return fmt::format("origin lsn={} {}", m.commit_lsn.to_string(), quoted(m.name));
  }
  std::string operator()(const RelationMessage& m) const {
    auto text = fmt::format("relation {} {}.{} identity={}", m.relation_id, quoted(m.schema), quoted(m.name),
                            m.replica_identity);
    for (const auto& column : m.columns) {
      text += fmt::format(" [{} type={} modifier={}{}]", quoted(column.name), column.type_id, column.type_modifier,
                          column.part_of_key ? " key" : "");
    }
    return text;
  }
  std::string operator()(const TypeMessage& m) const {
    return fmt::format("type {} {}.{}", m.type_id, quoted(m.schema), quoted(m.name));
  }
  std::string operator()(const InsertMessage& m) const {
    return fmt::format("insert {} N{}", m.relation_id, describe_row(m.row));
  }
  std::string operator()(const UpdateMessage& m) const {
    return fmt::format("update {}{} N{}", m.relation_id, describe_old(m.old_kind, m.old_row), describe_row(m.new_row));
  }
  std::string operator()(const DeleteMessage& m) const {
    return fmt::format("delete {}{}", m.relation_id, describe_old(m.old_kind, m.old_row));
  }
  std::string operator()(const TruncateMessage& m) const {
    return fmt::format("truncate {}{}{}", fmt::join(m.relation_ids, " "), m.cascade ? " cascade" : "",
                       m.restart_identity ? " restart_identity" : "");
  }
  std::string operator()(const LogicalMessage& m) const {
    return fmt::format("message lsn={} {}{} {}", m.lsn.to_string(), m.transactional ? "transactional " : "",
                       quoted(m.prefix), quoted(m.content));
  }
};

}  // namespace

std::string quoted(std::string_view bytes) {
  std::string text = "\"";
  for (const char byte : bytes) {
    if (byte == '"' || byte == '\\') text += '\\';
    if (byte >= ' ' && byte <= '~') {
      text += byte;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
  return text + '"';
}

std::string describe(const PgoutputMessage& message) { return std::visit(Describer{}, message); }

std::string describe(const Keepalive& keepalive) {
  return fmt::format("keepalive end={} time={}{}", keepalive.wal_end.to_string(), keepalive.send_time,
                     keepalive.reply_requested ? " reply_requested" : "");
}

}  // namespace walrelay::test
