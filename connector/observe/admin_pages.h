#pragma once
// The pages of the HTTP endpoint, without HTTP. Thread: any; only atomics and the board are read. No page shows a
// secret.

#include <chrono>
#include <string>

#include "connector/clock.h"
#include "connector/observe/metrics.h"
#include "connector/observe/metrics_text.h"
#include "connector/observe/status_board.h"

namespace walrelay {

struct AdminPage {
  int status = 200;
  std::string content_type;
  std::string body;
};

class AdminPages {
 public:
  // The loop beats many times a second, also when idle; after this it hangs.
  static constexpr std::chrono::seconds kLoopSilenceMax{30};

  // All but the identity stay the caller's and have to outlive this.
  AdminPages(RelayIdentity identity, const RelayMetrics& metrics, const StatusBoard& board, const Clock& clock)
      : identity_(std::move(identity)), metrics_(metrics), board_(board), clock_(clock) {}

  [[nodiscard]] AdminPage index() const;    // lists the others
  [[nodiscard]] AdminPage metrics() const;  // Prometheus' text format
  [[nodiscard]] AdminPage healthz() const;  // 503 only while the loop hangs: a restart would help
  [[nodiscard]] AdminPage readyz() const;   // 503 with the reasons, one a line; 200 on a healthy standby
  [[nodiscard]] AdminPage status() const;   // JSON

 private:
  [[nodiscard]] std::string loop_trouble() const;       // "" if there is none
  [[nodiscard]] std::string reasons_not_ready() const;  // one a line, "" if there is none

  RelayIdentity identity_;
  const RelayMetrics& metrics_;
  const StatusBoard& board_;
  const Clock& clock_;
};

}  // namespace walrelay
