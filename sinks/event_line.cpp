#include "sinks/event_line.h"

#include <algorithm>

#include "sinks/base64.h"
#include "sinks/utf8.h"

namespace walrelay {
namespace {

void append_key(JsonWriter& json, const NullableBytes& key) {
  json.key("key");
  if (!key) {
    json.null();
  } else if (is_valid_utf8(*key)) {
    json.string(*key);
  } else {
    json.string(to_base64(*key)).key("key_encoding").string("base64");
  }
}

void append_headers(JsonWriter& json, std::span<const EventHeader> headers) {
  json.key("headers").begin_object();
  for (const auto& [name, value] : headers) {
    json.key(name);
    if (!value) {
      json.null();
    } else if (is_valid_utf8(*value)) {
      json.string(*value);
    } else {
      json.begin_object().key("base64").string(to_base64(*value)).end_object();
    }
  }
  json.end_object();
}

}  // namespace

void EventLineWriter::append(std::string& out, const OutboxEvent& event) {
  JsonWriter json(out);
  json.begin_object().key("topic").string(event.topic);
  append_key(json, event.key);
  append_value(json, out, event.value);
  append_headers(json, event.headers);
  json.key("timestamp").integer(event.timestamp_ms);
  json.key("lsn").string(event.commit_lsn.to_string());
  json.key("index").integer(event.index).end_object();
  out += '\n';
}

void EventLineWriter::append_value(JsonWriter& json, std::string& out, const NullableBytes& value) {
  json.key("value");
  if (!value) {
    json.null().key("tombstone").boolean(true);
  } else if (!is_valid_utf8(*value)) {
    json.string(to_base64(*value)).key("encoding").string("base64");
  } else if (checker_.is_json(*value)) {
    append_json(json, out, *value);
  } else {
    json.string(*value);
  }
}

// In valid JSON a raw line break stands only between tokens.
void EventLineWriter::append_json(JsonWriter& json, std::string& out, std::string_view value) {
  json.raw(value);
  const auto start = out.end() - static_cast<std::ptrdiff_t>(value.size());
  std::replace_if(start, out.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
}

}  // namespace walrelay
