#pragma once
// The pages of the HTTP endpoint, without HTTP. Thread: any; only atomics and the board are read. No page shows a
// secret.

#include <chrono>
#include <string>
#include <vector>

#include "connector/clock.h"
#include "connector/observe/history.h"
#include "connector/observe/metrics.h"
#include "connector/observe/metrics_text.h"
#include "connector/observe/status_board.h"

namespace walrelay {

struct AdminPage {
  int status = 200;
  std::string content_type;
  std::string body;
  std::string content_security_policy{};  // "" for what no browser runs
};

class AdminPages {
 public:
  // The loop beats many times a second, also when idle; after this it hangs.
  static constexpr std::chrono::seconds kLoopSilenceMax{30};

  // All but the identity stay the caller's and have to outlive this.
  AdminPages(RelayIdentity identity, const RelayMetrics& metrics, const StatusBoard& board, const History& history,
             const Clock& clock)
      : identity_(std::move(identity)), metrics_(metrics), board_(board), history_(history), clock_(clock) {}

  [[nodiscard]] AdminPage index() const;    // HTML for people, made of /status, /history and /config
  [[nodiscard]] AdminPage metrics() const;  // Prometheus' text format
  [[nodiscard]] AdminPage healthz() const;  // 503 only while the loop hangs: a restart would help
  [[nodiscard]] AdminPage readyz() const;   // 503 with the reasons, one a line; 200 on a healthy standby
  [[nodiscard]] AdminPage status() const;   // JSON
  [[nodiscard]] AdminPage history() const;  // JSON: samples of the last 15 minutes, the oldest first
  [[nodiscard]] AdminPage config() const;   // the effective configuration, without secrets

 private:
  [[nodiscard]] std::string loop_trouble() const;  // "" if there is none
  // Empty: ready. Each is one line.
  [[nodiscard]] std::vector<std::string> reasons_not_ready(const RelayStatus& status) const;

  RelayIdentity identity_;
  const RelayMetrics& metrics_;
  const StatusBoard& board_;
  const History& history_;
  const Clock& clock_;
};

}  // namespace walrelay
