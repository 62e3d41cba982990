#pragma once
// Running the administering commands against a test's own database.

#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/postgres_server.h"
#include "tests/support/relay_process.h"
#include "tests/support/shared_servers.h"

namespace walrelay::test {

// A database whose name is also the name of the slot and of the publication.
class AdminFixture {
 public:
  [[nodiscard]] TestDatabase& database() { return database_; }
  [[nodiscard]] const std::string& name() const { return database_.name(); }

  [[nodiscard]] CommandResult run(const std::string& command, const std::vector<std::string>& more,
                                  const ProcessOptions& options = {}) const {
    std::vector<std::string> arguments{command, "--dsn", database_.dsn(), "--slot", name(), "--publication", name()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return walrelay_command(arguments, "", options);
  }
  [[nodiscard]] CommandResult init(const std::vector<std::string>& more = {"--table", "public.outbox"}) const {
    return run("init", more);
  }
  [[nodiscard]] CommandResult check(const std::string& table = "public.outbox",
                                    const std::string& preset = "standard") const {
    return run("check", {"--table", table, "--preset", preset, "--sink", "stdout", "--json"});
  }
  [[nodiscard]] std::string count(const std::string& from) { return database_.value("SELECT count(*) FROM " + from); }

 private:
  TestDatabase database_;
};

// Whether `check --json` has such a finding.
inline bool finds(const CommandResult& result, const std::string& check, const std::string& level) {
  return result.output.find("{\"check\":\"" + check + "\",\"level\":\"" + level + "\"") != std::string::npos;
}

}  // namespace walrelay::test
