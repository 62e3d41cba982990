#pragma once
// A program run by a test: its output is caught, and it never outlives the test.

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temp_dir.h"

namespace walrelay::test {

struct ProcessOptions {
  std::vector<std::pair<std::string, std::string>> environment{};  // added to this process's own
  std::string user{};                                              // run as this user if we are root; "" = as ourselves
  int death_signal = SIGKILL;  // what it gets when the thread that started it ends, however that happens
};

struct ExitStatus {
  int code = -1;   // exit status, -1 if a signal ended it
  int signal = 0;  // the signal that ended it, 0 if it exited
  bool operator==(const ExitStatus&) const = default;
};

// Thread: any one. Errors: std::runtime_error if the program cannot be started.
class Process {
 public:
  // `program` is a path, or a name looked up in $PATH. Standard input is empty.
  Process(const std::string& program, std::vector<std::string> arguments, const ProcessOptions& options = {});
  ~Process();  // SIGKILL, unless it has ended
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool running();
  void signal(int number);

  // Nothing if it still runs when the time is over.
  [[nodiscard]] std::optional<ExitStatus> wait(std::chrono::milliseconds at_most);

  // All it has written so far.
  [[nodiscard]] std::string output() const { return read_file(files_.file("stdout")); }
  [[nodiscard]] std::string errors() const { return read_file(files_.file("stderr")); }

  // Resident memory in bytes; 0 once it has ended.
  [[nodiscard]] std::size_t resident_bytes() const;
  [[nodiscard]] std::size_t peak_resident_bytes() const;  // the most it ever had

 private:
  TempDir files_;
  pid_t pid_ = -1;
  std::optional<ExitStatus> ended_;
};

struct CommandResult {
  int status = -1;  // exit status, -1 if it was killed or did not end in time
  std::string output;
  std::string errors;
};

// Runs a program to its end; after `at_most` it is killed.
[[nodiscard]] CommandResult run_command(const std::string& program, std::vector<std::string> arguments,
                                        const ProcessOptions& options = {},
                                        std::chrono::milliseconds at_most = std::chrono::seconds(30));

}  // namespace walrelay::test
