#pragma once
// Frames of a replication stream for a table public.outbox (id text, key text, payload text), written from the manual.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/lsn.h"
#include "decoder/outbox_rules.h"
#include "tests/support/wire_bytes.h"

namespace walrelay::test {

inline constexpr std::uint32_t kOutboxRelation = 16385;
inline constexpr std::uint32_t kOtherRelation = 16999;

inline std::string xlog_frame(const std::string& payload, std::uint64_t send_time = 0) {
  return WireBytes().byte('w').int64(0).int64(0).int64(send_time).raw(payload);
}

inline std::string keepalive_frame(Lsn wal_end, bool reply_requested = false) {
  return WireBytes().byte('k').int64(wal_end.value).int64(0).byte(reply_requested ? 1 : 0);
}

inline std::string begin_frame(Lsn commit_lsn, std::uint32_t xid, std::uint64_t commit_time = 1,
                               std::uint64_t send_time = 0) {
  return xlog_frame(WireBytes().byte('B').int64(commit_lsn.value).int64(commit_time).int32(xid), send_time);
}

inline std::string commit_frame(Lsn commit_lsn, Lsn end_lsn) {
  return xlog_frame(WireBytes().byte('C').byte(0).int64(commit_lsn.value).int64(end_lsn.value).int64(1));
}

inline std::string relation_frame(std::uint32_t id = kOutboxRelation, std::string_view name = "outbox") {
  WireBytes bytes;
  bytes.byte('R').int32(id).c_string("public").c_string(name).byte('d').int16(3);
  for (const auto* column : {"id", "key", "payload"}) bytes.byte(0).c_string(column).int32(25).int32(-1);
  return xlog_frame(bytes);
}

inline std::string insert_frame(std::string_view id, std::string_view key, std::string_view payload,
                                std::uint32_t relation = kOutboxRelation) {
  return xlog_frame(
      WireBytes().byte('I').int32(relation).byte('N').int16(3).text_value(id).text_value(key).text_value(payload));
}

inline std::string update_frame(std::uint32_t relation = kOutboxRelation) {
  return xlog_frame(
      WireBytes().byte('U').int32(relation).byte('N').int16(3).text_value("x").text_value("x").text_value("x"));
}

// The mapping that goes with it: topic "events", or what the payload says after "topic=".
inline std::vector<OutboxRules> stream_rules() {
  OutboxRules rules;
  rules.table = "public.outbox";
  rules.id = "{id}";
  rules.topic = "events";
  rules.key = "{key}";
  rules.value = "{payload}";
  return {rules};
}

}  // namespace walrelay::test
