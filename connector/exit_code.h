#pragma once
// What a command's exit status says; see docs/configuration.md. 130, 143: ended by SIGINT, SIGTERM after a drain.

namespace walrelay {

enum class ExitCode : int {
  done = 0,
  check_failed = 1,  // `check` found something; any other command: it could not do what was asked
  usage = 2,         // command line or configuration, also a mapping that does not fit its table
  cannot_start = 3,  // authentication, rights, database, publication, wal_level, wrong kind of slot
  poison = 4,        // halted on an event that can never be delivered
  slot_lost = 5,     // a gap: slot missing or lost, or not where the progress record has it
  interrupted = 130,
  terminated = 143,
};

}  // namespace walrelay
