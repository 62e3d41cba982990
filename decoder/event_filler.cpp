#include "decoder/event_filler.h"

#include <fmt/format.h>

#include <algorithm>

#include "decoder/bytea.h"
#include "decoder/cloud_event.h"
#include "decoder/event_time.h"
#include "decoder/shortened.h"
#include "decoder/topic_name.h"
#include "decoder/trace_context.h"

namespace walrelay {
namespace {

std::string fill_failure(const MappedPart& part, const Filled& filled) {
  const auto& column = filled.failed->column;
  switch (filled.error) {
    case FillError::invalid_json:
      return fmt::format(
          "{}: column \"{}\" does not hold valid JSON, which \"{}\" needs; correct the template or what writes the "
          "column",
          part.label, column, part.value.text());
    case FillError::missing_value:
      return fmt::format("{}: the server did not send the value of column \"{}\"", part.label, column);
    case FillError::not_text:
      return fmt::format("{}: the server sent column \"{}\" in binary form, not as text", part.label, column);
    case FillError::none:
      break;
  }
  return part.label;
}

}  // namespace

void EventFiller::begin(std::size_t outbox, const OutboxMapping& mapping, std::int64_t commit_time) {
  mapping_ = &mapping;
  event_ = OutboxEvent{};
  event_.outbox = outbox;
  event_.timestamp_ms = commit_time_ms(commit_time);
  id_.reset();
  topic_.reset();
  rejected_ = false;
  headers_.clear();
  json_.forget();
  if (scratch_.size() < mapping.parts.size()) scratch_.resize(mapping.parts.size());
}

void EventFiller::fill(const Binding& binding, Row row) {
  if (row.size() != binding.column_count) {
    reject(FailureClass::mapping,
           fmt::format("the row has {} columns, but the server described {}; this is an error of the "
                       "server or of walrelay",
                       row.size(), binding.column_count));
    return;
  }
  for (std::size_t i = 0; i < mapping_->parts.size(); ++i) {
    fill_part(mapping_->parts[i], binding.parts[i], row, scratch_[i]);
  }
}

void EventFiller::fill_part(const MappedPart& part, const BoundPart& bound, Row row, std::string& scratch) {
  if (!bound.missing_column.empty()) {
    reject(
        FailureClass::mapping,
        fmt::format(
            "{}: the table had no column \"{}\" when this row was written; change the template \"{}\", or let on_error "
            "decide about such rows",
            part.label, bound.missing_column, part.value.text()));
    return;
  }
  if (bound.dropped) return;
  set_part(part, part.repeats == Repeats::nothing ? value_of(part, bound, row, scratch) : repeated(part, scratch));
}

// Parts are in the order of EventPart: what a header repeats is there already.
NullableBytes EventFiller::repeated(const MappedPart& part, std::string& scratch) const {
  if (part.repeats == Repeats::id) return id_;
  scratch.clear();
  if (!append_event_time(event_.timestamp_ms, scratch)) return std::nullopt;
  return std::string_view(scratch);
}

NullableBytes EventFiller::value_of(const MappedPart& part, const BoundPart& bound, Row row, std::string& scratch) {
  if (bound.preferred && row[*bound.preferred].kind == ColumnKind::text) return row[*bound.preferred].bytes;
  const auto filled = part.value.fill(row, bound.columns, json_, scratch);
  if (filled.error != FillError::none) {
    reject(FailureClass::mapping, fill_failure(part, filled));
    return std::nullopt;
  }
  return bound.decode_bytea ? decoded(part, filled.value, scratch) : filled.value;
}

NullableBytes EventFiller::decoded(const MappedPart& part, NullableBytes hex, std::string& scratch) {
  if (!hex) return hex;
  if (decode_bytea(*hex, scratch)) return std::string_view(scratch);
  reject(FailureClass::encoding, fmt::format("{}: the bytea of \"{}\" is not in hexadecimal form; is bytea_output set "
                                             "to escape on the replication connection?",
                                             part.label, part.value.text()));
  return std::nullopt;
}

void EventFiller::set_part(const MappedPart& part, NullableBytes value) {
  switch (part.part) {
    case EventPart::id:
      id_ = value;
      return;
    case EventPart::topic:
      topic_ = value;
      return;
    case EventPart::key:
      event_.key = value;
      return;
    case EventPart::value:
      event_.value = value;
      return;
    case EventPart::timestamp:
      set_timestamp(value);
      return;
    case EventPart::header:
      set_header(part.header, value);
      return;
  }
}

void EventFiller::set_timestamp(NullableBytes text) {
  const auto ms = text ? parse_event_time(*text) : std::nullopt;
  event_.timestamp_replaced = !ms;
  if (ms) event_.timestamp_ms = *ms;
}

void EventFiller::set_header(std::string_view name, NullableBytes value) {
  const auto same = std::find_if(headers_.begin(), headers_.end(), [&](const auto& h) { return h.name == name; });
  if (same == headers_.end()) {
    if (value) headers_.push_back({name, value});
  } else if (value) {
    same->value = value;
  } else {
    headers_.erase(same);
  }
}

void EventFiller::add_headers(std::span<const EventHeader> headers) {
  for (const auto& header : headers) set_header(header.name, header.value);
}

void EventFiller::reject(FailureClass failure_class, std::string_view reason) {
  if (rejected_) return;
  rejected_ = true;
  rejection_.failure_class = failure_class;
  rejection_.reason = reason;
}

void EventFiller::check_topic() {
  if (!topic_) {
    reject(FailureClass::mapping, "the topic is NULL; give the row a topic, or change the template of topic");
    return;
  }
  event_.topic = *topic_;
  if (is_topic_name(*topic_)) return;
  reject(FailureClass::topic,
         fmt::format(
             "Kafka forbids the topic name \"{}\": 1 to {} of a-z A-Z 0-9 . _ - are allowed, but not \".\" and \"..\"",
             shortened(*topic_), kTopicNameBytesMax));
}

void EventFiller::check_traceparent() {
  for (const auto& [name, value] : headers_) {
    if (name == kTraceparentHeader) event_.invalid_traceparent = !is_traceparent(value.value_or(""));
  }
}

// An attribute that is empty is not there, says the specification.
void EventFiller::check_cloud_event() {
  std::erase_if(headers_, [](const auto& h) {
    return h.value.value_or("").empty() && (h.name.starts_with(kCloudEventPrefix) || h.name == kContentTypeHeader);
  });
  for (const auto name : kRequiredCloudEventHeaders) {
    if (std::any_of(headers_.begin(), headers_.end(), [&](const auto& h) { return h.name == name; })) continue;
    reject(FailureClass::mapping,
           fmt::format("CloudEvents attribute \"{}\" is NULL or empty, and a CloudEvent needs it; give the row one, or "
                       "change its template",
                       name.substr(kCloudEventPrefix.size())));
  }
}

Routed EventFiller::finish() {
  check_topic();
  if (mapping_->traced) check_traceparent();
  if (mapping_->cloud_event) check_cloud_event();
  event_.id = id_.value_or(std::string_view{});
  event_.headers = headers_;
  if (!rejected_) return {RouteStatus::event, IgnoreReason::none, nullptr, event_};
  const auto id = id_ ? fmt::format(", id {}", shortened(*id_)) : "";
  rejection_.reason = fmt::format("[[outbox]] {}{}: {}", mapping_->name, id, rejection_.reason);
  return {RouteStatus::rejected, IgnoreReason::none, &rejection_, event_};
}

}  // namespace walrelay
