#include "decoder/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include "decoder/nearest_name.h"
#include "decoder/rule_error.h"
#include "decoder/template.h"

namespace walrelay {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kStandardColumns = {
    PresetColumn{"id", "uuid PRIMARY KEY DEFAULT gen_random_uuid()", true},
    PresetColumn{"occurred_at", "timestamptz NOT NULL DEFAULT now()", true},
    PresetColumn{"type", "text NOT NULL", true},
    PresetColumn{"payload", "jsonb", true},
    PresetColumn{"trace_parent", "text", false},
    PresetColumn{"processed_at", "timestamptz", false},
    PresetColumn{"attempts", "integer NOT NULL DEFAULT 0", false},
    PresetColumn{"error", "text", false},
};
constexpr std::array kStandardHeaders = {PresetHeader{"type", "{type}"}, PresetHeader{"traceparent", "{trace_parent}"}};
constexpr std::array kStandardOptional = {"trace_parent"sv};

constexpr std::array kPascalColumns = {
    PresetColumn{"Id", "uuid PRIMARY KEY DEFAULT gen_random_uuid()", true},
    PresetColumn{"Type", "text NOT NULL", true},
    PresetColumn{"Payload", "jsonb", true},
    PresetColumn{"OccurredAt", "timestamptz NOT NULL DEFAULT now()", true},
    PresetColumn{"ProcessedAt", "timestamptz", false},
    PresetColumn{"RetryCount", "integer NOT NULL DEFAULT 0", false},
};
constexpr std::array kPascalHeaders = {PresetHeader{"type", "{Type}"}};

constexpr std::array kMessageIdColumns = {
    PresetColumn{"Id", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", false},
    PresetColumn{"MessageId", "uuid NOT NULL UNIQUE DEFAULT gen_random_uuid()", true},
    PresetColumn{"Type", "text NOT NULL", true},
    PresetColumn{"Payload", "text", true},
    PresetColumn{"CreatedAt", "timestamptz NOT NULL DEFAULT now()", true},
    PresetColumn{"ProcessedAt", "timestamptz", false},
};

constexpr std::array kDebeziumColumns = {
    PresetColumn{"id", "uuid PRIMARY KEY DEFAULT gen_random_uuid()", true},
    PresetColumn{"aggregatetype", "varchar(255) NOT NULL", true},
    PresetColumn{"aggregateid", "varchar(255) NOT NULL", true},
    PresetColumn{"type", "varchar(255) NOT NULL", false},
    PresetColumn{"payload", "jsonb", true},
};

constexpr std::array kPresets = {
    Preset{"standard", kStandardColumns, "{id}", "outbox.{type}", "{id}", "{payload}", "{occurred_at}",
           kStandardHeaders, kStandardOptional},
    Preset{"pascal", kPascalColumns, "{Id}", "outbox.{Type}", "{Id}", "{Payload}", "{OccurredAt}", kPascalHeaders, {}},
    Preset{"messageid",
           kMessageIdColumns,
           "{MessageId}",
           "outbox.{Type}",
           "{MessageId}",
           "{Payload}",
           "{CreatedAt}",
           kPascalHeaders,
           {}},
    Preset{
        "debezium", kDebeziumColumns, "{id}", "outbox.event.{aggregatetype}", "{aggregateid}", "{payload}", "", {}, {}},
};

[[noreturn]] void unknown_preset(const OutboxRules& rules) {
  std::vector<std::string_view> names;
  for (const auto& preset : kPresets) names.push_back(preset.name);
  const auto nearest = nearest_name(rules.preset, names);
  const auto hint = nearest.empty() ? "" : fmt::format("did you mean \"{}\"? ", nearest);
  throw RuleError(fmt::format("[[outbox]] {}: unknown preset \"{}\"; {}presets are {}", rules.table, rules.preset, hint,
                              fmt::join(names, ", ")));
}

bool names_column(const OutboxRules& rules, std::string_view label, std::string_view text, std::string_view column) {
  const auto compiled = Template::compile(fmt::format("[[outbox]] {}, {}", rules.table, label), text);
  const auto references = compiled.references();
  return std::any_of(references.begin(), references.end(), [&](const auto& r) { return r.column == column; });
}

// A column that the user asks for by name is not optional.
bool user_names_column(const OutboxRules& rules, std::string_view column) {
  const std::initializer_list<std::pair<std::string_view, const std::optional<std::string>&>> parts = {
      {"id", rules.id},       {"topic", rules.topic},         {"key", rules.key},
      {"value", rules.value}, {"timestamp", rules.timestamp},
  };
  for (const auto& [label, text] : parts) {
    if (text && names_column(rules, label, *text, column)) return true;
  }
  return std::any_of(rules.headers.begin(), rules.headers.end(), [&](const auto& header) {
    return names_column(rules, fmt::format("header \"{}\"", header.first), header.second, column);
  });
}

void fill(std::optional<std::string>& target, std::string_view text) {
  if (!target && !text.empty()) target = text;
}

// The preset's headers first and in its order; the user's value where there is one; then the user's others.
void fill_headers(OutboxRules& rules, std::span<const PresetHeader> headers) {
  std::vector<std::pair<std::string, std::string>> merged;
  for (const auto& [name, value] : headers) {
    const auto own =
        std::find_if(rules.headers.begin(), rules.headers.end(), [&](const auto& h) { return h.first == name; });
    merged.emplace_back(name, own == rules.headers.end() ? value : std::string_view(own->second));
  }
  for (auto& header : rules.headers) {
    const bool done = std::any_of(merged.begin(), merged.end(), [&](const auto& m) { return m.first == header.first; });
    if (!done) merged.push_back(std::move(header));
  }
  rules.headers = std::move(merged);
}

std::size_t required_count(const Preset& preset) {
  const auto is_required = [](const PresetColumn& c) { return c.required; };
  return static_cast<std::size_t>(std::count_if(preset.columns.begin(), preset.columns.end(), is_required));
}

bool fits(const Preset& preset, std::span<const ColumnInfo> columns) {
  const auto is_there = [&](const PresetColumn& wanted) {
    return std::any_of(columns.begin(), columns.end(), [&](const auto& c) { return c.name == wanted.name; });
  };
  return std::all_of(preset.columns.begin(), preset.columns.end(),
                     [&](const auto& wanted) { return !wanted.required || is_there(wanted); });
}

}  // namespace

std::span<const Preset> presets() { return kPresets; }

const Preset* find_preset(std::string_view name) {
  const auto* const found =
      std::find_if(kPresets.begin(), kPresets.end(), [&](const auto& p) { return p.name == name; });
  return found == kPresets.end() ? nullptr : found;
}

void fill_from_preset(OutboxRules& rules) {
  if (rules.preset.empty()) return;
  const auto* const preset = find_preset(rules.preset);
  if (!preset) unknown_preset(rules);
  if (!rules.messages.empty()) {
    throw RuleError(
        fmt::format("[[outbox]] {}: a preset is for tables, not for messages; remove preset", rules.messages));
  }
  for (const auto column : preset->optional_columns) {
    if (!user_names_column(rules, column)) rules.optional_columns.emplace_back(column);
  }
  fill(rules.id, preset->id);
  fill(rules.topic, preset->topic);
  fill(rules.key, preset->key);
  fill(rules.value, preset->value);
  fill(rules.timestamp, preset->timestamp);
  fill_headers(rules, preset->headers);
}

const Preset* propose_preset(std::span<const ColumnInfo> columns) {
  const Preset* best = nullptr;
  for (const auto& preset : kPresets) {
    if (fits(preset, columns) && (!best || required_count(preset) >= required_count(*best))) best = &preset;
  }
  return best;
}

}  // namespace walrelay
