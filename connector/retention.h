#pragma once
// Deletes rows and partitions of outbox tables that are published and no longer wanted, as [outbox.retention] says,
// while this instance is the one that streams. Delivery does not depend on it: what fails is told, counted and tried
// again at the next interval.
//
// Each run has an ordinary connection of its own, so that a slow statement keeps nobody else waiting. What a run asks:
// retention_run.h. Thread: the loop thread; nothing here blocks.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connector/config/config.h"
#include "connector/observe/metrics.h"
#include "connector/postgres/async_connection.h"
#include "connector/retention_run.h"
#include "connector/told_reasons.h"

namespace walrelay {

class Retention {
 public:
  static constexpr Duration kFirstRunAfter = std::chrono::seconds(2);  // of becoming active

  // The stream that this instance reads.
  struct Stream {
    Lsn confirmed;      // nothing up to here is sent again
    int walsender = 0;  // its PID
  };

  // `conninfo` is asked at each run. `config`, `metrics` and `clock` outlive it.
  Retention(std::function<Conninfo()> conninfo, const Config& config, RelayMetrics& metrics, const Clock& clock);

  // `stream`: none while another instance, or nobody, has the slot; a run ends with it.
  void step(Instant now, const std::optional<Stream>& stream);

  // Negative while nothing is expected from the server.
  [[nodiscard]] int descriptor() const;
  [[nodiscard]] bool wants_write() const { return connection_.wants_write(); }
  [[nodiscard]] Instant deadline() const;

 private:
  struct Job {
    std::size_t outbox = 0;
    Instant due{};
    Instant count_due{};   // once rows were counted in vain
    bool failing = false;  // the last run did
    ToldReasons told;
  };

  [[nodiscard]] static bool earlier(const Job& a, const Job& b);
  [[nodiscard]] Job& next_job();
  void begin(Job& job, Instant now);
  void drive(Instant now, const Stream& stream);
  void take_answer(Instant now);
  void ask_next(Instant now, const Stream& stream);
  void done(Instant now);
  void failed(const std::string& reason, Instant now);
  void end(Instant now);

  std::function<Conninfo()> conninfo_;
  const Config& config_;
  RelayMetrics& metrics_;
  const Clock& clock_;
  std::vector<Job> jobs_;
  bool active_ = false;

  AsyncConnection connection_;
  Job* job_ = nullptr;               // that runs
  std::optional<RetentionRun> run_;  // once connected
  bool asked_ = false;
  Instant began_{};
  Duration worked_{};  // of the server, since then
  Instant asked_at_{};
  Instant wake_{};                      // while run_ waits for something else than the server
  std::optional<Instant> waits_since_;  // for publication
};

}  // namespace walrelay
