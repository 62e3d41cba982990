#pragma once
// Templates of the configuration: text with references to columns, "outbox.{type|kebab}", "{payload/orderId}", "{{" and
// "}}" for braces. Compiled once, filled for each row. Syntax: docs/presets.md.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/json_pointer.h"
#include "decoder/outbox_event.h"
#include "decoder/pgoutput_messages.h"
#include "decoder/text_filter.h"

namespace walrelay {

struct TemplateReference {
  std::string column;                  // exactly as in the catalog
  std::optional<JsonPointer> pointer;  // into the column's JSON
  std::vector<TextFilter> filters;     // applied from left to right
};

enum class FillError : std::uint8_t {
  none,
  invalid_json,   // the column of a JSON pointer does not hold JSON
  missing_value,  // an unchanged TOAST value: never in an Insert
  not_text,       // sent in binary form: the relay asks for text
};

struct Filled {
  NullableBytes value;  // into the row, the template or the scratch buffer
  FillError error = FillError::none;
  const TemplateReference* failed = nullptr;  // set if and only if there is an error
};

class Template {
 public:
  // `name` opens the message of the RuleError that is thrown for a mistake: `[[outbox]] public.orders, key`.
  static Template compile(std::string_view name, std::string_view text);

  // `columns`: for each reference the index of its column in the row. A template that is one reference and is NULL
  // gives NULL; in a longer one NULL is empty. A lone reference without pointer and filters is not copied.
  [[nodiscard]] Filled fill(Row row, std::span<const std::size_t> columns, JsonReader& json,
                            std::string& scratch) const;

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::span<const TemplateReference> references() const { return references_; }
  // One reference and nothing around it.
  [[nodiscard]] bool single_reference() const { return pieces_.size() == 1 && references_.size() == 1; }
  // The column's bytes as they are.
  [[nodiscard]] bool passes_through() const {
    return single_reference() && !references_.front().pointer && references_.front().filters.empty();
  }

 private:
  struct Piece {
    std::string literal;
    std::size_t reference = kNone;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  friend class TemplateParser;

  Filled append(const TemplateReference& reference, const ColumnValue& value, JsonReader& json, std::string& out) const;

  std::string text_;
  std::vector<Piece> pieces_;
  std::vector<TemplateReference> references_;
};

}  // namespace walrelay
