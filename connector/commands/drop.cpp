// `walrelay drop`.

#include <fmt/format.h>

#include <iostream>
#include <string>

#include "connector/commands/command_support.h"
#include "connector/commands/commands.h"
#include "connector/postgres/slot_admin.h"

namespace walrelay {
namespace {

bool confirmed_by_user(const Config& config) {
  fmt::print(stderr,
             "Drop slot \"{}\" and publication \"{}\"? Events that were not delivered can then only be had from the "
             "table. [y/N] ",
             config.postgres.slot, config.postgres.publication);
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "Y" || answer == "yes");
}

ExitCode drop(const Config& config, const DropFlags& flags) {
  PgConnection connection(query_conninfo(config));
  const auto& [dsn, query_dsn, slot_name, publication] = config.postgres;
  const auto slot = read_slot(connection, slot_name);
  if (slot && slot->active) {
    throw PgError("55006", fmt::format("slot \"{}\" is in use by {}", slot_name, describe_user(*slot)),
                  "stop that relay first");
  }
  if (!flags.yes && !confirmed_by_user(config)) {
    say("nothing was dropped");
    return ExitCode::check_failed;
  }
  // The slot first: without its publication it could not be read any more, but would hold WAL back all the same.
  const bool had_slot = drop_slot(connection, slot_name);
  say(fmt::format("{} slot \"{}\"", had_slot ? "dropped" : "there was no", slot_name));
  const bool had_publication = drop_publication(connection, publication);
  say(fmt::format("{} publication \"{}\"", had_publication ? "dropped" : "there was no", publication));
  return ExitCode::done;
}

}  // namespace

ExitCode drop_command(const Config& config, const DropFlags& flags) {
  return guarded("drop", [&] { return drop(config, flags); });
}

}  // namespace walrelay
