#pragma once
// An event as one line of JSON: what the file and stdout sinks write.
//
//   {"topic":"outbox.OrderPlaced","key":"42","value":{"total":3},"headers":{"id":"..."},"timestamp":1700000000000,
//    "lsn":"0/16B3748","index":0}
//
// value: JSON as it is where the value is JSON (line breaks between tokens as spaces), else a string, or base64 with
// "encoding":"base64" where it is not UTF-8. A NULL value (a tombstone) is null with "tombstone":true, which JSON's own
// null has not. key: a string or null; base64 with "key_encoding":"base64". A header that is not UTF-8 is
// {"base64":"..."}; a name that occurs twice is there twice. timestamp: milliseconds since 1970-01-01 UTC. lsn: the
// start of the transaction's commit record.

#include <string>
#include <string_view>

#include "decoder/outbox_event.h"
#include "sinks/json_text.h"
#include "sinks/json_writer.h"

namespace walrelay {

class EventLineWriter {
 public:
  // Appends the line, with its line break.
  void append(std::string& out, const OutboxEvent& event);

 private:
  void append_value(JsonWriter& json, std::string& out, const NullableBytes& value);
  void append_json(JsonWriter& json, std::string& out, std::string_view value);

  JsonChecker checker_;
};

}  // namespace walrelay
