#pragma once
// What the service manager is told, where there is one (systemd, Type=notify): ready, state, signs of life, the end.
// systemd manual, sd_notify(3), "Notes" has the protocol: datagrams of NAME=VALUE lines to the socket that
// NOTIFY_SOCKET names. It is spoken here, so that no further library is in the process. Thread: the loop thread.

#include <chrono>
#include <string>
#include <string_view>

#include "connector/clock.h"
#include "connector/observe/status_board.h"
#include "sinks/file_descriptor.h"

namespace walrelay {

class ServiceManager {
 public:
  static constexpr Duration kInterval = std::chrono::seconds(1);

  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. Without the first everything does nothing; one that cannot be
  // used is a line in the log. `board` stays the caller's and has to outlive this.
  explicit ServiceManager(const StatusBoard& board);

  // Of the loop: READY=1 at the first one, since the relay serves and works from then on, active or not, with or
  // without its server; then the state when it has changed, and WATCHDOG=1 where it is asked for.
  void turn(Instant now) {
    if (now >= due_) tell(now);
  }
  // The loop has ended.
  void stopping() { send("STOPPING=1"); }

 private:
  void tell(Instant now);
  void send(std::string_view message) const;

  const StatusBoard& board_;
  FileDescriptor socket_;
  Duration interval_ = kInterval;
  bool watchdog_ = false;
  bool ready_ = false;
  bool stopping_ = false;
  std::string told_;
  Instant due_ = Instant::min();
};

}  // namespace walrelay
