#pragma once
// The subcommands. Each prints its result on stdout, the rest on stderr, and returns the exit status; none throws.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "connector/backfill_choice.h"
#include "connector/config/config.h"
#include "connector/exit_code.h"

namespace walrelay {

struct InitFlags {
  bool print = false;        // print the SQL, change nothing
  bool column_list = false;  // publish only the mapped columns (PostgreSQL 15+)
  bool failover = false;     // let standbys keep a copy of the slot (PostgreSQL 17+)
  std::string role;          // grant to this role; "" = the role connected as
  std::string preset;        // as given by --preset; "" = propose one from the table's columns
  std::optional<BackfillChoice> backfill;
};

struct CheckFlags {
  bool json = false;
};

struct RunFlags {
  bool drain = false;             // stop with status 0 once all that was committed before the start is confirmed
  std::vector<std::string> skip;  // events to pass over, see connector/skip_list.h
};

struct StatusFlags {
  bool json = false;
  std::string url;  // ask this instance instead of the server; "" = do not
};

// All that is set has to fit an event, for it to be printed.
struct TailFlags {
  std::optional<std::string> topic;
  std::optional<std::string> id;
  std::optional<std::string> key;
  std::optional<std::string> type;                           // the value of the header "type"
  std::vector<std::pair<std::string, std::string>> headers;  // name, value
  std::optional<std::uint64_t> limit;                        // end after so many
};

struct DropFlags {
  bool yes = false;  // do not ask
};

struct RecoverFlags {
  std::optional<BackfillChoice> backfill;  // unset: unprocessed where every table tells that, else all
  bool yes = false;                        // do not ask
};

struct ReplayFlags {
  RowFilter filter;
  bool dead_letters = false;  // not rows of the tables
  bool yes = false;           // do not ask
};

ExitCode init_command(const Config& config, const InitFlags& flags);
ExitCode check_command(const Config& config, const CheckFlags& flags);
ExitCode run_command(const Config& config, const RunFlags& flags);
ExitCode status_command(const Config& config, const StatusFlags& flags);
ExitCode remote_status_command(const StatusFlags& flags);  // of flags.url; needs no configuration
ExitCode tail_command(const Config& config, const TailFlags& flags);
ExitCode replay_command(const Config& config, const ReplayFlags& flags);
ExitCode recover_command(const Config& config, const RecoverFlags& flags);
ExitCode drop_command(const Config& config, const DropFlags& flags);

}  // namespace walrelay
