#pragma once
// What `check` looks at, in parts that can run side by side.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "connector/config/config.h"

namespace walrelay {

enum class FindingLevel : std::uint8_t { ok, warning, error };

struct Finding {
  FindingLevel level = FindingLevel::ok;
  std::string check;    // stable name: "slot", "publication.table"
  std::string message;  // one line, for people
  std::string remedy;   // "" if there is nothing to do
};

class Findings {
 public:
  void ok(std::string_view check, std::string message) { add(FindingLevel::ok, check, std::move(message), ""); }
  void warning(std::string_view check, std::string message, std::string remedy) {
    add(FindingLevel::warning, check, std::move(message), std::move(remedy));
  }
  void error(std::string_view check, std::string message, std::string remedy) {
    add(FindingLevel::error, check, std::move(message), std::move(remedy));
  }
  void append(const Findings& others) { list_.insert(list_.end(), others.list_.begin(), others.list_.end()); }

  [[nodiscard]] const std::vector<Finding>& list() const { return list_; }
  [[nodiscard]] bool failed() const;

 private:
  void add(FindingLevel level, std::string_view check, std::string message, std::string remedy) {
    list_.push_back({level, std::string(check), std::move(message), std::move(remedy)});
  }
  std::vector<Finding> list_;
};

// Each ends within 10 s if its server does not answer. None throws but for memory.
[[nodiscard]] Findings check_database(const Config& config);  // server, tables, publication, slot: by ordinary queries
[[nodiscard]] Findings check_replication(const Config& config);  // whether a replication connection is let in
[[nodiscard]] Findings check_sink(const Config& config);         // broker and topics, or the file's directory
// The slot against its progress record; to be asked when the others found no error. Nothing where there is no record.
[[nodiscard]] Findings check_progress(const Config& config);

}  // namespace walrelay
