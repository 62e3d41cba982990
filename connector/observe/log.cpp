#include "connector/observe/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "connector/observe/time_text.h"
#include "connector/write_all.h"
#include "sinks/json_writer.h"
#include "sinks/utf8.h"

namespace walrelay {
namespace {

struct LogTarget {
  std::atomic<LogFormat> format = LogFormat::text;
  std::atomic<LogLevel> level = LogLevel::info;
  std::atomic<int> descriptor = STDERR_FILENO;
  std::atomic<bool> over_bar = false;
  std::mutex writing;  // a line that write(2) takes in parts stays in one piece
  RecentMessages recent;
};

LogTarget& target() {
  static LogTarget the_target;
  return the_target;
}

struct CutText {
  std::string_view text;
  std::string_view ellipsis;
};

CutText cut(std::string_view text) {
  if (text.size() <= kLogTextBytesMax) return {text, ""};
  auto end = kLogTextBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return {text.substr(0, end), "..."};
}

// U+0080 to U+009F are control characters too: a terminal may take them for the start of a sequence.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

void append_escaped(std::string& out, std::string_view character) {
  if (character == "\n") {
    out += "\\n";
    return;
  }
  if (character == "\t") {
    out += "\\t";
    return;
  }
  for (const char byte : character) {
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
}

void append_printable(std::string& out, std::string_view text, bool quoted) {
  while (!text.empty()) {
    const auto length = utf8_character_length(text);
    const auto character = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || is_control(character)) {
      append_escaped(out, character);
    } else {
      if (quoted && (character == "\"" || character == "\\")) out += '\\';
      out += character;
    }
    text.remove_prefix(character.size());
  }
}

bool needs_quotes(std::string_view text) {
  return text.empty() || text.find_first_of(" =\"\\\t\r\n") != std::string_view::npos;
}

void append_text_value(std::string& out, std::string_view whole) {
  const auto [text, ellipsis] = cut(whole);
  const bool quoted = needs_quotes(text);
  if (quoted) out += '"';
  append_printable(out, text, quoted);
  out += ellipsis;
  if (quoted) out += '"';
}

struct TextValue {
  std::string& out;
  void operator()(std::string_view text) const { append_text_value(out, text); }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(Lsn lsn) const { out += lsn.to_string(); }
  void operator()(auto number) const { out += fmt::format("{}", number); }
};

void append_message(std::string& out, const LogRecord& record) {
  const auto [message, ellipsis] = cut(record.message);
  append_printable(out, message, false);
  out += ellipsis;
  for (const auto& field : record.fields) {
    out += ' ';
    out += field.name;
    out += '=';
    std::visit(TextValue{out}, field.value.value());
  }
}

void append_text(std::string& out, const LogRecord& record) {
  out += fmt::format("{} {:<7} {}: ", iso_time(record.time), level_name(record.level), record.event);
  append_message(out, record);
}

void append_json_text(JsonWriter& json, std::string_view whole) {
  const auto [text, ellipsis] = cut(whole);
  if (ellipsis.empty()) {
    json.string(text);
  } else {
    json.string(std::string(text).append(ellipsis));
  }
}

struct JsonValue {
  JsonWriter& json;
  void operator()(std::string_view text) const { append_json_text(json, text); }
  void operator()(bool value) const { json.boolean(value); }
  void operator()(Lsn lsn) const { json.string(lsn.to_string()); }
  void operator()(double number) const { json.number(number); }
  void operator()(std::integral auto number) const { json.integer(number); }
};

void append_json(std::string& out, const LogRecord& record) {
  JsonWriter json(out);
  json.begin_object();
  json.key("time").string(iso_time(record.time));
  json.key("level").string(level_name(record.level));
  json.key("event").string(record.event);
  json.key("message");
  append_json_text(json, record.message);
  for (const auto& field : record.fields) {
    json.key(field.name);
    std::visit(JsonValue{json}, field.value.value());
  }
  json.end_object();
}

void keep(const LogRecord& record) {
  std::string text;
  append_message(text, record);
  target().recent.add(record.time, record.level, record.event, std::move(text));
}

}  // namespace

void configure_log(const LogOptions& options) { configure_log(options, STDERR_FILENO); }

void configure_log(const LogOptions& options, int descriptor) {
  target().format = options.format;
  target().level = options.level;
  target().descriptor = descriptor;
}

void log_over_bar(bool drawn) { target().over_bar = drawn; }

std::vector<RecentMessage> recent_messages() { return target().recent.messages(); }

std::string_view level_name(LogLevel level) {
  static constexpr std::array<std::string_view, 4> kNames = {"debug", "info", "warning", "error"};
  return kNames[static_cast<std::size_t>(level)];
}

bool log_enabled(LogLevel level) { return level >= target().level.load(std::memory_order_relaxed); }

void append_log_line(std::string& out, LogFormat format, const LogRecord& record) {
  if (format == LogFormat::json) {
    append_json(out, record);
  } else {
    append_text(out, record);
  }
  out += '\n';
}

void log_line(LogLevel level, std::string_view event, std::string_view message, LogFields fields) {
  const bool kept = level >= LogLevel::warning;
  if (!kept && !log_enabled(level)) return;
  const LogRecord record{SystemClock().wall(), level, event, message, fields};
  if (kept) keep(record);
  if (!log_enabled(level)) return;
  std::string line = target().over_bar ? "\r\033[K" : "";
  append_log_line(line, target().format, record);
  const std::lock_guard lock(target().writing);
  write_all(target().descriptor, line);
}

}  // namespace walrelay
