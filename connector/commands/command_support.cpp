#include "connector/commands/command_support.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <iostream>

#include "decoder/rule_error.h"

namespace walrelay {

void print_out(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void say(std::string_view line) { fmt::print(stderr, "{}\n", line); }

bool agreed(std::string_view question) {
  fmt::print(stderr, "{} [y/N] ", question);
  std::string answer;
  if (std::getline(std::cin, answer) && (answer == "y" || answer == "Y" || answer == "yes")) return true;
  say("nothing was done");
  return false;
}

ExitCode guarded(std::string_view command, const std::function<ExitCode()>& body) {
  try {
    const auto code = body();
    if (std::fflush(stdout) == 0) return code;
    say(fmt::format("walrelay {}: cannot write to standard output", command));
    return ExitCode::check_failed;
  } catch (const PgError& error) {
    say(fmt::format("walrelay {}: {}", command, error.message()));
    return exit_code_of(error);
  } catch (const RuleError& error) {
    say(fmt::format("walrelay {}: {}", command, error.what()));
    return ExitCode::usage;
  } catch (const std::exception& error) {
    say(fmt::format("walrelay {}: {}", command, error.what()));
    return ExitCode::check_failed;
  }
}

ExitCode exit_code_of(const PgError& error) {
  return error.trouble() == PgTrouble::permanent ? ExitCode::cannot_start : ExitCode::check_failed;
}

Conninfo query_conninfo(const PostgresOptions& options) {
  return query_conninfo(options.query_dsn.empty() ? options.dsn : options.query_dsn, options.slot);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const auto& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

}  // namespace walrelay
