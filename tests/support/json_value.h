#pragma once
// One value out of JSON text, for assertions.

#include <string>
#include <string_view>
#include <vector>

#include "decoder/json_pointer.h"

namespace walrelay::test {

// A string without its quotes, anything else as written; "null" also for what is not there.
inline std::string json_value(std::string_view json, std::string_view pointer) {
  JsonReader reader;
  std::vector<JsonMember> members;
  if (!reader.members(json, members)) return "(not one JSON object)";
  std::string value;
  switch (reader.find(json, JsonPointer::parse(pointer).value(), value)) {
    case JsonLookup::found:
      return value;
    case JsonLookup::null:
      return "null";
    case JsonLookup::invalid:
      break;
  }
  return "(invalid JSON)";
}

}  // namespace walrelay::test
