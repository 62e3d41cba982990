#include "decoder/message_fields.h"

#include <algorithm>

namespace walrelay {
namespace {

constexpr ColumnValue kNull{ColumnKind::null, {}};

ColumnValue text_or_null(const JsonMember& member) {
  return member.kind == JsonKind::null ? kNull : ColumnValue{ColumnKind::text, member.text};
}

}  // namespace

MessageFields::MessageFields(std::span<const std::string> referenced) {
  for (const char* name : {"topic", "key", "id", "type", "headers", "payload"}) columns_.push_back({name, 0});
  for (const auto& name : referenced) {
    const bool known = std::any_of(columns_.begin(), columns_.end(), [&](const auto& c) { return c.name == name; });
    if (!known) columns_.push_back({name, 0});
  }
  row_.resize(columns_.size(), kNull);
}

MessageError MessageFields::parse(std::string_view content) {
  std::fill(row_.begin(), row_.end(), kNull);
  headers_.clear();
  if (!reader_.members(content, members_)) return MessageError::not_an_object;
  const JsonMember* headers = nullptr;
  for (const auto& member : members_) {
    const auto column =
        std::find_if(columns_.begin(), columns_.end(), [&](const auto& c) { return c.name == member.name; });
    if (column == columns_.end()) continue;
    const auto index = static_cast<std::size_t>(column - columns_.begin());
    row_[index] = index == kPayload ? ColumnValue{ColumnKind::text, member.raw} : text_or_null(member);
    if (index == kHeaders) headers = &member;
  }
  return headers && headers->kind != JsonKind::null ? parse_headers(headers->raw) : MessageError::none;
}

MessageError MessageFields::parse_headers(std::string_view raw) {
  if (!header_reader_.members(raw, header_members_)) return MessageError::headers_not_an_object;
  for (const auto& member : header_members_) {
    const NullableBytes value = member.kind == JsonKind::null ? NullableBytes{} : NullableBytes{member.text};
    const auto same =
        std::find_if(headers_.begin(), headers_.end(), [&](const auto& h) { return h.name == member.name; });
    if (same == headers_.end()) {
      headers_.push_back({member.name, value});
    } else {
      same->value = value;
    }
  }
  return MessageError::none;
}

}  // namespace walrelay
