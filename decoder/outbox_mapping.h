#pragma once
// One [[outbox]], compiled: its templates, and their binding to the columns of one relation.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/outbox_rules.h"
#include "decoder/relation_cache.h"
#include "decoder/template.h"

namespace walrelay {

enum class EventPart : std::uint8_t { id, topic, key, value, timestamp, header };

// What a header says again of its event, instead of filling a template.
enum class Repeats : std::uint8_t { nothing, id, time };

struct MappedPart {
  EventPart part{};
  std::string label;   // as in the configuration: `key`, `header "type"`
  std::string header;  // its name; "" for the other parts
  Repeats repeats = Repeats::nothing;
  Template value;
};

struct OutboxMapping {
  std::string name;  // the table, or the message prefix
  bool of_messages = false;
  std::vector<MappedPart> parts;  // in the order of EventPart, headers in the order they are sent
  std::vector<std::string> optional_columns;
  bool traced = false;       // an event may have a header traceparent
  bool cloud_event = false;  // its headers have to make a CloudEvent
};

// Throws RuleError. An empty template means "none", so that a preset's can be taken away; topic and value cannot.
[[nodiscard]] OutboxMapping compile_mapping(const OutboxRules& rules);

// The column that the event's time is taken from as it is; "" if there is none. Throws RuleError.
[[nodiscard]] std::string time_column(const OutboxRules& rules);

struct BoundPart {
  bool dropped = false;                  // names an optional column that the table lacks
  bool decode_bytea = false;             // the event gets the bytes, not PostgreSQL's text for them
  std::vector<std::size_t> columns;      // for each reference of the template
  std::optional<std::size_t> preferred;  // messages only: the field that replaces the template where it is there
  std::string missing_column;            // not "": no row can be mapped
};

struct Binding {
  std::vector<BoundPart> parts;  // as OutboxMapping::parts
  std::size_t column_count = 0;
};

[[nodiscard]] Binding bind(const OutboxMapping& mapping, std::span<const DescribedColumn> columns);

}  // namespace walrelay
