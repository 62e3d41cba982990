#pragma once
// CloudEvents 1.0 in binary mode: which headers an outbox sends. "Kafka Protocol Binding for CloudEvents" 1.0.2, 3.2.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/outbox_mapping.h"
#include "decoder/outbox_rules.h"

namespace walrelay {

inline constexpr std::string_view kCloudEventPrefix = "ce_";
inline constexpr std::string_view kContentTypeHeader = "content-type";  // carries the attribute datacontenttype

// Without these, and none of them empty, it is no CloudEvent. ce_specversion is always there.
inline constexpr std::array<std::string_view, 3> kRequiredCloudEventHeaders = {"ce_id", "ce_source", "ce_type"};

struct CloudEventHeader {
  std::string name;
  std::string label;  // for messages to people
  std::string text;   // template
  Repeats repeats = Repeats::nothing;
};

// In the order they are sent, the id first. `rules` with its preset filled in, and with cloudevents; `id`: the template
// of the event's id, "" if it has none. Throws RuleError: an attribute that is required is not configured, a name that
// cannot be one, a header of `rules` that is the CloudEvent's.
[[nodiscard]] std::vector<CloudEventHeader> cloud_event_headers(const OutboxRules& rules, const std::string& id);

}  // namespace walrelay
