#pragma once
// RelayMetrics in Prometheus' text format, made at the moment of the scrape.

#include <string>
#include <vector>

#include "connector/clock.h"
#include "connector/observe/metrics.h"

namespace walrelay {

// What does not change while the process lives.
struct RelayIdentity {
  std::string version;
  std::string slot;
  std::vector<std::string> outboxes;  // names by index, as many as the metrics count: table, or prefix of the messages
  std::string sink;                   // for people: kind and address, without secrets
  PgTime started = 0;
  std::string configuration{};     // as `walrelay config` prints it, without secrets
  std::vector<bool> write_back{};  // by outbox, whether it is configured; none for those that are missing
};

// Every metric has the label `slot`. One whose value is not known is left out. `ready`: what /readyz says. Thread: any.
[[nodiscard]] std::string metrics_text(const RelayIdentity& identity, const RelayMetrics& metrics, const Clock& clock,
                                       bool ready);

}  // namespace walrelay
