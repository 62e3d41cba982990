#pragma once
// What the loop tells the HTTP thread in words: its state, the server, why it is not ready, the last error. Numbers are
// in RelayMetrics. Written at changes only, never per event. Thread: any; a mutex is held for the time of a copy. No
// secrets.

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connector/clock.h"

namespace walrelay {

enum class RelayState : std::uint8_t {
  starting,
  connecting,        // to the server, or waiting for the next attempt
  streaming,         // also while reading is paused
  standby,           // another instance has the slot
  waiting_for_sink,  // disconnected from the server so as not to be in its way
  draining,          // asked to stop
};
inline constexpr std::array<std::string_view, 6> kRelayStateNames = {"starting", "connecting",       "streaming",
                                                                     "standby",  "waiting_for_sink", "draining"};

// What readiness depends on; each has at most one reason at a time.
enum class ReadySubject : std::uint8_t { server, queries, sink, publication, stream };
inline constexpr std::size_t kReadySubjects = 5;

struct ServerIdentity {
  std::string host;     // host:port or the socket's path
  std::string version;  // "15.18"
  bool tls = false;
};

struct LastError {
  PgTime time = 0;
  std::string text;
};

struct RelayStatus {
  RelayState state = RelayState::starting;
  PgTime since = 0;
  std::optional<ServerIdentity> server;
  std::string wal_status;              // of the slot: reserved, extended, unreserved, lost; "" if it is not known
  std::vector<std::string> not_ready;  // one reason for each subject that has one; empty: ready
  std::optional<LastError> last_error;
};

class StatusBoard {
 public:
  explicit StatusBoard(PgTime now) : since_(now) {}

  // Nothing if it is in that state already: `since` stays.
  void set_state(RelayState state, PgTime now) {
    const std::lock_guard lock(mutex_);
    if (state == state_) return;
    state_ = state;
    since_ = now;
  }

  void set_server(ServerIdentity server) {
    const std::lock_guard lock(mutex_);
    server_ = std::move(server);
  }

  void set_wal_status(std::string status) {
    const std::lock_guard lock(mutex_);
    wal_status_ = std::move(status);
  }

  // One line, naming the thing (host, table) and the reason. A server is waited for from the start.
  void block(ReadySubject subject, std::string reason) {
    const std::lock_guard lock(mutex_);
    reasons_[static_cast<std::size_t>(subject)] = std::move(reason);
  }
  void unblock(ReadySubject subject) {
    const std::lock_guard lock(mutex_);
    reasons_[static_cast<std::size_t>(subject)].reset();
  }

  void set_last_error(std::string text, PgTime now) {
    const std::lock_guard lock(mutex_);
    last_error_ = LastError{now, std::move(text)};
  }

  [[nodiscard]] RelayStatus snapshot() const {
    const std::lock_guard lock(mutex_);
    RelayStatus status{state_, since_, server_, wal_status_, {}, last_error_};
    for (const auto& reason : reasons_) {
      if (reason) status.not_ready.push_back(*reason);
    }
    return status;
  }

 private:
  mutable std::mutex mutex_;
  RelayState state_ = RelayState::starting;
  PgTime since_;
  std::optional<ServerIdentity> server_;
  std::string wal_status_;
  std::array<std::optional<std::string>, kReadySubjects> reasons_ = {"starting: not connected to PostgreSQL yet"};
  std::optional<LastError> last_error_;
};

}  // namespace walrelay
