#include "decoder/outbox_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "decoder/bytea.h"
#include "decoder/cloud_event.h"
#include "decoder/message_fields.h"
#include "decoder/rule_error.h"
#include "decoder/trace_context.h"

namespace walrelay {
namespace {

class MappingCompiler {
 public:
  explicit MappingCompiler(const OutboxRules& rules) : rules_(rules) {
    mapping_.of_messages = !rules.messages.empty();
    mapping_.name = mapping_.of_messages ? rules.messages : rules.table;
    mapping_.optional_columns = rules.optional_columns;
  }

  OutboxMapping compile() {
    check_source();
    add_part(EventPart::id, "id", rules_.id, "{id}");
    add_part(EventPart::topic, "topic", rules_.topic, "{topic}");
    add_part(EventPart::key, "key", rules_.key, "{key}");
    add_part(EventPart::value, "value", rules_.value, "{payload}");
    add_part(EventPart::timestamp, "timestamp", rules_.timestamp, "");
    require(EventPart::topic, "topic");
    require(EventPart::value, "value");
    check_timestamp();
    add_headers();
    mapping_.traced = mapping_.of_messages || has_header(kTraceparentHeader);  // a message brings headers of its own
    return std::move(mapping_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw RuleError(fmt::format("[[outbox]] {}: {}", mapping_.name.empty() ? "without a name" : mapping_.name, what));
  }

  void check_source() const {
    if (rules_.table.empty() == rules_.messages.empty()) {
      fail(R"(set either table = "schema.table" or messages = "prefix")");
    }
    const auto dot = rules_.table.find('.');
    if (mapping_.of_messages || (dot != std::string::npos && dot > 0 && dot + 1 < rules_.table.size())) return;
    fail(fmt::format("table must be named with its schema, e.g. \"public.{}\"", rules_.table));
  }

  // Only messages have defaults: the fields of their JSON are fixed. A table's come from presets.
  void add_part(EventPart part, std::string label, const std::optional<std::string>& given,
                std::string_view default_text) {
    const std::string_view text = given ? *given : mapping_.of_messages ? default_text : "";
    if (!text.empty()) add(part, std::move(label), "", text);
  }

  MappedPart& add(EventPart part, std::string label, std::string header, std::string_view text) {
    auto compiled = Template::compile(fmt::format("[[outbox]] {}, {}", mapping_.name, label), text);
    return mapping_.parts.emplace_back(
        MappedPart{part, std::move(label), std::move(header), Repeats::nothing, std::move(compiled)});
  }

  [[nodiscard]] const MappedPart* find(EventPart part) const {
    const auto found =
        std::find_if(mapping_.parts.begin(), mapping_.parts.end(), [&](const auto& p) { return p.part == part; });
    return found == mapping_.parts.end() ? nullptr : &*found;
  }

  [[nodiscard]] bool has_header(std::string_view name) const {
    return std::any_of(mapping_.parts.begin(), mapping_.parts.end(), [&](const auto& p) { return p.header == name; });
  }

  void require(EventPart part, std::string_view label) const {
    if (!find(part)) fail(fmt::format("{} is not set; set it, or choose a preset", label));
  }

  void check_timestamp() const {
    const auto* const timestamp = find(EventPart::timestamp);
    if (timestamp && (!timestamp->value.single_reference() || !timestamp->value.references().front().filters.empty())) {
      fail(R"(timestamp must be one reference without filters, e.g. "{created_at}")");
    }
  }

  void add_headers() {
    const auto replaces_id = [&](const auto& header) { return header.first == rules_.id_header; };
    const auto& headers = rules_.headers;
    const auto own_id = std::find_if(headers.begin(), headers.end(), replaces_id);
    const auto* const id_part = find(EventPart::id);
    const std::string id = id_part ? id_part->value.text() : "";
    if (own_id != headers.end()) {
      add_header(own_id->first, own_id->second);
    } else if (!id.empty() && !rules_.id_header.empty()) {
      auto& header = add(EventPart::header, fmt::format("header \"{}\"", rules_.id_header), rules_.id_header, id);
      header.repeats = Repeats::id;
    }
    if (rules_.cloudevents) add_cloud_event(id);
    for (const auto& header : headers) {
      if (!replaces_id(header)) add_header(header.first, header.second);
    }
    const bool has_type = std::any_of(headers.begin(), headers.end(), [](const auto& h) { return h.first == "type"; });
    if (mapping_.of_messages && !has_type) add_header("type", "{type}");
  }

  void add_cloud_event(const std::string& id) {
    mapping_.cloud_event = true;
    for (const auto& header : cloud_event_headers(rules_, id)) {
      add(EventPart::header, header.label, header.name, header.text).repeats = header.repeats;
    }
  }

  void add_header(const std::string& name, const std::string& text) {
    if (name.empty()) fail(R"(a header has the name ""; give it a name)");
    if (!text.empty()) add(EventPart::header, fmt::format("header \"{}\"", name), name, text);
  }

  const OutboxRules& rules_;
  OutboxMapping mapping_;
};

class Binder {
 public:
  Binder(const OutboxMapping& mapping, std::span<const DescribedColumn> columns)
      : mapping_(mapping), columns_(columns) {}

  [[nodiscard]] BoundPart bind(const MappedPart& part) const {
    BoundPart bound;
    for (const auto& reference : part.value.references()) {
      const auto column = find(reference.column);
      bound.columns.push_back(column.value_or(0));
      if (column) continue;
      if (is_optional(reference.column)) {
        bound.dropped = true;
      } else if (bound.missing_column.empty()) {
        bound.missing_column = reference.column;
      }
    }
    const bool is_bytea = part.value.passes_through() && bound.missing_column.empty() && !bound.dropped &&
                          columns_[bound.columns.front()].type_id == kByteaTypeId;
    // The id and the topic are text for people too. (A header that repeats the id is not filled by its own template.)
    const bool is_bytes =
        part.part == EventPart::key || part.part == EventPart::value || part.part == EventPart::header;
    bound.decode_bytea = is_bytea && is_bytes;
    if (mapping_.of_messages) bound.preferred = preferred_field(part.part);
    return bound;
  }

 private:
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
    const auto found = std::find_if(columns_.begin(), columns_.end(), [&](const auto& c) { return c.name == name; });
    if (found == columns_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns_.begin());
  }

  [[nodiscard]] bool is_optional(std::string_view column) const {
    const auto& names = mapping_.optional_columns;
    return std::find(names.begin(), names.end(), column) != names.end();
  }

  static std::optional<std::size_t> preferred_field(EventPart part) {
    switch (part) {
      case EventPart::topic:
        return MessageFields::kTopic;
      case EventPart::key:
        return MessageFields::kKey;
      case EventPart::id:
        return MessageFields::kId;
      case EventPart::value:
      case EventPart::timestamp:
      case EventPart::header:
        return std::nullopt;
    }
    return std::nullopt;
  }

  const OutboxMapping& mapping_;
  std::span<const DescribedColumn> columns_;
};

}  // namespace

OutboxMapping compile_mapping(const OutboxRules& rules) { return MappingCompiler(rules).compile(); }

std::string time_column(const OutboxRules& rules) {
  for (const auto& mapped : compile_mapping(rules).parts) {
    if (mapped.part != EventPart::timestamp || !mapped.value.passes_through()) continue;
    return std::string(mapped.value.references().front().column);
  }
  return {};
}

Binding bind(const OutboxMapping& mapping, std::span<const DescribedColumn> columns) {
  const Binder binder(mapping, columns);
  Binding binding;
  binding.column_count = columns.size();
  for (const auto& part : mapping.parts) binding.parts.push_back(binder.bind(part));
  return binding;
}

}  // namespace walrelay
