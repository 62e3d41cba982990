#pragma once
// Log lines for people (text) and machines (JSON lines), on stderr, one write(2) a line.
//
//   log_info("streaming_started", "streaming from the slot", {{"slot", slot}, {"lsn", confirmed}});
//
// `event` is a stable snake_case name that alerts may rely on; the message is for people and may change. Field names
// are snake_case and none of time, level, event, message. Never pass a secret.
//
// Thread: any. Errors: none is thrown but for memory; a line that stderr does not take is lost, there is nowhere left
// to say so. A stderr that is not read blocks the caller: a relay's log belongs in a file or in a collector that reads.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "connector/clock.h"
#include "connector/config/config.h"
#include "connector/observe/recent_messages.h"
#include "decoder/lsn.h"

namespace walrelay {

// A field's value. Text is a view: it has to live until the log call returns, as a temporary of the call does.
class LogValue {
 public:
  // Implicit, so that fields can be written in braces.
  template <std::convertible_to<std::string_view> T>
  LogValue(const T& text) : value_(std::string_view(text)) {}
  template <std::integral T>
  LogValue(T number) : value_(widen(number)) {}
  LogValue(double number) : value_(number) {}
  LogValue(Lsn lsn) : value_(lsn) {}

  using Variant = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool, Lsn>;
  [[nodiscard]] const Variant& value() const { return value_; }

 private:
  template <std::integral T>
  static auto widen(T number) {
    if constexpr (std::is_same_v<T, bool>) {
      return number;
    } else if constexpr (std::is_signed_v<T>) {
      return std::int64_t{number};
    } else {
      return std::uint64_t{number};
    }
  }

  Variant value_;
};

struct LogField {
  std::string_view name;
  LogValue value;
};

using LogFields = std::initializer_list<LogField>;

// Before any thread that logs is started. Without it: text, level info, stderr.
void configure_log(const LogOptions& options);
void configure_log(const LogOptions& options, int descriptor);

// While a progress bar stands in the last line of the terminal, each line takes its place; the bar is drawn again
// below.
void log_over_bar(bool drawn);

// "debug", "info", "warning", "error".
[[nodiscard]] std::string_view level_name(LogLevel level);

// The last warnings and errors, the newest first, whatever level is written.
[[nodiscard]] std::vector<RecentMessage> recent_messages();

// For callers whose fields are costly to make.
[[nodiscard]] bool log_enabled(LogLevel level);

void log_line(LogLevel level, std::string_view event, std::string_view message, LogFields fields = {});

inline void log_debug(std::string_view event, std::string_view message, LogFields fields = {}) {
  log_line(LogLevel::debug, event, message, fields);
}
inline void log_info(std::string_view event, std::string_view message, LogFields fields = {}) {
  log_line(LogLevel::info, event, message, fields);
}
inline void log_warning(std::string_view event, std::string_view message, LogFields fields = {}) {
  log_line(LogLevel::warning, event, message, fields);
}
inline void log_error(std::string_view event, std::string_view message, LogFields fields = {}) {
  log_line(LogLevel::error, event, message, fields);
}

// Text longer than this is cut, with "..." at its end, so that no line grows without bound.
inline constexpr std::size_t kLogTextBytesMax = 4096;

struct LogRecord {
  PgTime time;
  LogLevel level;
  std::string_view event;
  std::string_view message;
  LogFields fields;
};

// Appends the line, with its line break; control characters inside are escaped, so a record is always one line.
void append_log_line(std::string& out, LogFormat format, const LogRecord& record);

}  // namespace walrelay
