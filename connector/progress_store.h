#pragma once
// Progress records for commands: blocking, on a sink that nothing else uses meanwhile.

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "connector/progress_record.h"
#include "sinks/sink.h"

namespace walrelay {

// One line: what could not be read or written, and why.
class ProgressError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The latest records of a slot, oldest first: for judge_progress() or choose_progress(). Nothing if the sink holds no
// records. Throws ProgressError, also when the time is over.
[[nodiscard]] std::optional<std::vector<std::string>> read_progress_records(Sink& sink, const std::string& slot,
                                                                            std::chrono::milliseconds at_most);

// Acknowledged when it returns. Nothing as record: the slot's records are removed. Only for a sink that holds records.
// Throws ProgressError.
void write_progress_record(Sink& sink, const std::string& slot, const std::optional<ProgressRecord>& record,
                           std::chrono::milliseconds at_most);

}  // namespace walrelay
