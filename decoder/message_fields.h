#pragma once
// The JSON object of pg_logical_emit_message(true, prefix,
// '{"topic":...,"key":...,"id":...,"type":...,"headers":{...},"payload":...}') as a row, so that templates are filled
// from it as from a table's.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/json_pointer.h"
#include "decoder/outbox_event.h"
#include "decoder/pgoutput_messages.h"
#include "decoder/relation_cache.h"

namespace walrelay {

enum class MessageError : std::uint8_t {
  none,
  not_an_object,          // the content is not one JSON object
  headers_not_an_object,  // its "headers" are something else
};

class MessageFields {
 public:
  static constexpr std::size_t kTopic = 0;
  static constexpr std::size_t kKey = 1;
  static constexpr std::size_t kId = 2;
  static constexpr std::size_t kType = 3;
  static constexpr std::size_t kHeaders = 4;
  static constexpr std::size_t kPayload = 5;

  // `referenced`: fields that templates name; they become columns too.
  explicit MessageFields(std::span<const std::string> referenced);

  [[nodiscard]] std::span<const DescribedColumn> columns() const { return columns_; }

  // What follows is valid until the next parse(). Of fields given twice the last one counts; unknown fields are left
  // alone.
  [[nodiscard]] MessageError parse(std::string_view content);

  // A string is its text, null and absent fields are NULL, any other value is its JSON text. `payload` always is: a
  // string keeps its quotes, and null is "null"; only an absent one is NULL.
  [[nodiscard]] Row row() const { return row_; }
  [[nodiscard]] std::span<const EventHeader> headers() const { return headers_; }

 private:
  [[nodiscard]] MessageError parse_headers(std::string_view raw);

  JsonReader reader_;
  JsonReader header_reader_;
  std::vector<JsonMember> members_;
  std::vector<JsonMember> header_members_;
  std::vector<DescribedColumn> columns_;
  std::vector<ColumnValue> row_;
  std::vector<EventHeader> headers_;
};

}  // namespace walrelay
