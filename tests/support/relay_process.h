#pragma once
// The walrelay program as a user runs it.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {

[[nodiscard]] std::string walrelay_program();  // its path

// Runs `walrelay <arguments>` to its end; the file `configuration`, if not "", is given with -c.
[[nodiscard]] CommandResult walrelay_command(std::vector<std::string> arguments, const std::string& configuration = "",
                                             const ProcessOptions& options = {},
                                             std::chrono::milliseconds at_most = std::chrono::seconds(30));

struct HttpReply {
  int status = 0;  // 0: no answer
  std::string body;
};

// A running `walrelay run`, with its HTTP port picked by the kernel. Killed with the object.
class RelayProcess {
 public:
  // `configuration` is TOML without [http].
  explicit RelayProcess(const std::string& configuration, std::vector<std::string> arguments = {},
                        const ProcessOptions& options = {});

  [[nodiscard]] Process& process() { return process_; }
  [[nodiscard]] std::string log() const { return process_.errors(); }  // standard error

  // True once /readyz answers 200; false if the time is over or the program has ended.
  [[nodiscard]] bool wait_ready(std::chrono::milliseconds at_most = std::chrono::seconds(15));

  [[nodiscard]] HttpReply get(const std::string& path);  // "/status"

  // A sample of /metrics by name; `labels` are those that must be among its own. Nothing if it is absent; the sum if
  // several fit.
  [[nodiscard]] std::optional<double> metric(const std::string& name,
                                             const std::map<std::string, std::string>& labels = {});

  // Of the address that it listens on, once it does.
  [[nodiscard]] std::optional<std::uint16_t> http_port();

  // SIGTERM, and what the program ended with; nothing if it did not end in time.
  [[nodiscard]] std::optional<ExitStatus> stop(std::chrono::milliseconds at_most = std::chrono::seconds(20));

 private:
  TempDir directory_;
  Process process_;
  std::optional<std::uint16_t> http_port_;
};

}  // namespace walrelay::test
