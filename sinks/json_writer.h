#pragma once
// Appends JSON (RFC 8259) to a string that the caller owns and may reuse: lines of the file sink, logs, /status.
//
//   JsonWriter json(out);
//   json.begin_object().key("lsn").string("0/1").key("index").integer(3).end_object();   // {"lsn":"0/1","index":3}
//
// Commas and colons are put in by the writer; that begins and ends match, and that every value of an object follows a
// key, is up to the caller. Output is always valid UTF-8: a byte that is not becomes U+FFFD. Never throws but for
// memory.

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "sinks/utf8.h"

namespace walrelay {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  JsonWriter& key(std::string_view name) {
    separate();
    append_quoted(name);
    out_ += ':';
    comma_due_ = false;
    return *this;
  }

  JsonWriter& string(std::string_view text) {
    separate();
    append_quoted(text);
    return *this;
  }

  // `json` is one JSON value already; it is not looked into.
  JsonWriter& raw(std::string_view json) {
    separate();
    out_ += json;
    return *this;
  }

  JsonWriter& integer(std::integral auto value) {
    char digits[24];
    const auto result = std::to_chars(digits, digits + sizeof digits, value);
    return raw({digits, static_cast<std::size_t>(result.ptr - digits)});
  }

  // The shortest text that reads back as the same double; JSON has no infinities and no NaN: null.
  JsonWriter& number(double value) {
    if (!std::isfinite(value)) return null();
    char digits[32];
    const auto result = std::to_chars(digits, digits + sizeof digits, value);
    return raw({digits, static_cast<std::size_t>(result.ptr - digits)});
  }

  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }

 private:
  void separate() {
    if (comma_due_) out_ += ',';
    comma_due_ = true;
  }

  JsonWriter& open(char bracket) {
    separate();
    out_ += bracket;
    comma_due_ = false;
    return *this;
  }

  JsonWriter& close(char bracket) {
    out_ += bracket;
    comma_due_ = true;
    return *this;
  }

  static constexpr bool is_plain(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
  }

  void append_quoted(std::string_view text) {
    out_ += '"';
    while (!text.empty()) {
      std::size_t plain = 0;
      while (plain < text.size() && is_plain(text[plain])) ++plain;
      out_.append(text.substr(0, plain));
      text.remove_prefix(plain);
      if (!text.empty()) text.remove_prefix(append_special(text));
    }
    out_ += '"';
  }

  // Appends the first character of `text`, which needs care; returns how many bytes it took.
  std::size_t append_special(std::string_view text) {
    const auto byte = static_cast<unsigned char>(text.front());
    if (byte < 0x80) {
      append_escaped(byte);
      return 1;
    }
    const auto length = utf8_character_length(text);
    if (length == 0) {
      out_ += "\xEF\xBF\xBD";
      return 1;
    }
    out_.append(text.substr(0, length));
    return length;
  }

  void append_escaped(unsigned char c) {
    constexpr std::string_view kHex = "0123456789abcdef";
    switch (c) {
      case '"':
        out_ += "\\\"";
        return;
      case '\\':
        out_ += "\\\\";
        return;
      case '\n':
        out_ += "\\n";
        return;
      case '\r':
        out_ += "\\r";
        return;
      case '\t':
        out_ += "\\t";
        return;
      default:
        out_ += "\\u00";
        out_ += kHex[c >> 4U];
        out_ += kHex[c & 0xFU];
    }
  }

  std::string& out_;
  bool comma_due_ = false;
};

}  // namespace walrelay
