// walrelay COMMAND: parse, configure, dispatch. Exit statuses: exit_code.h.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "connector/commands/command_line.h"
#include "connector/commands/man_page.h"
#include "connector/config/config_print.h"
#include "connector/config/config_reference.h"
#include "connector/config/load_config.h"
#include "connector/postgres/conninfo.h"

namespace walrelay {
namespace {

// What each command needs of a configuration, and the command.
struct Dispatch {
  const CommandLine& line;

  [[nodiscard]] Config config(Mapping mapping) const { return load_config({line.config_file, line.settings, mapping}); }

  ExitCode operator()(const Answer& answer) const {
    fmt::print("{}", answer.text);
    return ExitCode::done;
  }
  ExitCode operator()(const InitFlags& flags) const {
    const Config loaded = config(Mapping::optional);
    require_outbox(loaded, line.name);
    if (flags.backfill) require_sink(loaded, "init --backfill");
    if (flags.backfill && loaded.sink.type == SinkType::stdout_lines) {
      throw ConfigError(
          "init --backfill: standard output carries the proposed configuration; choose another sink than stdout");
    }
    return init_command(loaded, flags);
  }
  ExitCode operator()(const CheckFlags& flags) const {
    const Config loaded = config(Mapping::required);
    require_outbox(loaded, line.name);
    require_sink(loaded, line.name);
    return check_command(loaded, flags);
  }
  ExitCode operator()(const RunFlags& flags) const {
    const Config loaded = config(Mapping::required);
    require_outbox(loaded, line.name);
    require_sink(loaded, line.name);
    return run_command(loaded, flags);
  }
  ExitCode operator()(const StatusFlags& flags) const {
    return flags.url.empty() ? status_command(config(Mapping::optional), flags) : remote_status_command(flags);
  }
  ExitCode operator()(const TailFlags& flags) const {
    const Config loaded = config(Mapping::required);
    require_outbox(loaded, line.name);
    return tail_command(loaded, flags);
  }
  ExitCode operator()(const ReplayFlags& flags) const {
    const Config loaded = config(Mapping::required);
    require_sink(loaded, line.name);
    if (flags.dead_letters) {
      if (loaded.sink.type != SinkType::kafka) throw ConfigError("replay --dead-letters needs a sink of type kafka");
    } else {
      require_table(loaded, line.name);
    }
    return replay_command(loaded, flags);
  }
  ExitCode operator()(const RecoverFlags& flags) const {
    const Config loaded = config(Mapping::required);
    require_outbox(loaded, line.name);
    require_sink(loaded, line.name);
    return recover_command(loaded, flags);
  }
  ExitCode operator()(const DropFlags& flags) const { return drop_command(config(Mapping::optional), flags); }
  ExitCode operator()(const ConfigFlags& flags) const {
    fmt::print("{}", flags.man         ? man_page(command_helps())
                     : flags.reference ? config_reference()
                                       : print_config(config(Mapping::optional)));
    return ExitCode::done;
  }
};

ExitCode run_main(std::span<char*> arguments) {
  try {
    const CommandLine line = parse_command_line({arguments.begin(), arguments.end()});
    hide_secrets(arguments);
    forget_session_environment();
    return std::visit(Dispatch{line}, line.command);
  } catch (const ConfigError& error) {
    fmt::print(stderr, "walrelay: {}\n", error.what());
    return ExitCode::usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "walrelay: {}\n", error.what());
    return ExitCode::check_failed;
  }
}

}  // namespace
}  // namespace walrelay

int main(int argc, char** argv) {
  const std::span<char*> all(argv, static_cast<std::size_t>(argc));
  return static_cast<int>(walrelay::run_main(all.subspan(all.empty() ? 0 : 1)));
}
