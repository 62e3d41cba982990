#include "connector/commands/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "connector/config/config_reference.h"
#include "connector/config/options.h"
#include "connector/observe/version.h"

namespace walrelay {
namespace {

constexpr std::string_view kFirstSections = R"(.SH NAME
walrelay \- relay rows of an outbox table from PostgreSQL to Kafka
.SH SYNOPSIS
.B walrelay
.I COMMAND
.RB [ \-c
.IR FILE ]
.RI [ FLAG ...]
.SH DESCRIPTION
walrelay reads the write\-ahead log of PostgreSQL through a logical replication slot, sends each committed row of an outbox
table to Kafka, and confirms a position to the server only after the broker has acknowledged all events before it. Events
arrive at least once, and those with the same key in the order of their commits.
.PP
The configuration is a TOML file that
.B \-c
names, flags, or both; flags win. Any setting can be given by
.BR \-\-set .
Without
.B \-c
no file is read. In any value ${NAME} stands for an environment variable and ${file:PATH} for the content of a file.
)";

constexpr std::string_view kEnd = R"(.SH SIGNALS
.TP
.BR SIGTERM ", " SIGINT
.B walrelay run
reads no more, waits for acknowledgements, for delivery.drain_timeout at most, confirms and ends. A second one ends it at
once.
.SH FILES
.TP
.I /etc/walrelay/walrelay.toml
The configuration that the systemd unit reads.
.SH ENVIRONMENT
.TP
.BR PGHOST ", " PGDATABASE ", " PGUSER ", " PGPASSFILE " and others"
libpq's, where the connection string leaves something out.
.TP
.BR NOTIFY_SOCKET ", " WATCHDOG_USEC
Set by a service manager, which
.B run
then tells when it is ready, and gives signs of life.
.SH SEE ALSO
.BR systemctl (1),
.BR psql (1),
and the documentation in /usr/share/doc/walrelay.
)";

// Text that means itself: no escape, no macro at the begin of a line, hyphens that can be copied.
std::string plain(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if (c != '`') {  // of Markdown
      escaped += c;
    }
  }
  if (escaped.starts_with('.') || escaped.starts_with('\'')) escaped.insert(0, "\\&");
  return escaped;
}

std::string entry(std::string_view term, std::string_view value, std::string_view text) {
  const auto shown = value.empty() ? std::string() : fmt::format(" \\fI{}\\fR", plain(value));
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}.\n", plain(term), shown, plain(text));
}

std::string flag_entry(const FlagHelp& flag) {
  return entry(fmt::format("{}", fmt::join(flag.names, ", ")), flag.value, flag.summary);
}

std::string settings() {
  std::string text =
      ".SH SETTINGS\nKeys of the file, and of \\-\\-set. A star is the number of an [[outbox]], from 0.\n";
  for (const Option& option : options()) {
    const auto standard = option_default(option);
    text += entry(
        option.key, option_type(option),
        standard.empty() ? std::string(option.summary) : fmt::format("{}; default: {}", option.summary, standard));
  }
  return text;
}

}  // namespace

std::string man_page(const std::vector<CommandHelp>& commands) {
  std::string text =
      fmt::format(".TH WALRELAY 1 \"\" \"walrelay {}\" \"User Commands\"\n{}.SH COMMANDS\n", kVersion, kFirstSections);
  for (const CommandHelp& command : commands) {
    text += fmt::format(".SS {}\n{}.\n", plain(command.name), plain(command.summary));
    for (const FlagHelp& flag : command.own) text += flag_entry(flag);
  }
  text += ".SH COMMON FLAGS\nOf every command that reads a configuration.\n";
  for (const FlagHelp& flag : commands.front().common) text += flag_entry(flag);
  text += settings() + ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_meanings())
    text += entry(std::to_string(static_cast<int>(code)), "", meaning);
  return text.append(kEnd);
}

}  // namespace walrelay
