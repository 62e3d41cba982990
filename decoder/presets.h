#pragma once
// Presets: the usual outbox tables, and the templates for each. One row of a table each (presets.cpp); see
// docs/presets.md.

#include <optional>
#include <span>
#include <string_view>

#include "decoder/column_info.h"
#include "decoder/outbox_rules.h"

namespace walrelay {

struct PresetColumn {
  std::string_view name;        // not quoted
  std::string_view definition;  // the rest of its line in CREATE TABLE
  bool required;                // the templates name it; the others may be absent
};

struct PresetHeader {
  std::string_view name;
  std::string_view value;  // template
};

struct Preset {
  std::string_view name;
  std::span<const PresetColumn> columns;  // in the order of CREATE TABLE
  std::string_view id;                    // templates; "" = none
  std::string_view topic;
  std::string_view key;
  std::string_view value;
  std::string_view timestamp;
  std::span<const PresetHeader> headers;
  std::span<const std::string_view> optional_columns;  // named by templates, but the table may lack them
};

[[nodiscard]] std::span<const Preset> presets();
[[nodiscard]] const Preset* find_preset(std::string_view name);  // nullptr: no such preset

// Fills what the rules leave unset from rules.preset ("" = nothing to fill); headers given by name replace the
// preset's. Doing it twice changes nothing. Throws RuleError: unknown preset (with the nearest one as a hint), a
// template that does not compile.
void fill_from_preset(OutboxRules& rules);

// The preset whose required columns a table has, by name; of several the one that asks for most, of equals the more
// special one (the later). nullptr: none fits.
[[nodiscard]] const Preset* propose_preset(std::span<const ColumnInfo> columns);

}  // namespace walrelay
