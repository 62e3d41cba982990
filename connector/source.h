#pragma once
// The seam between the relay and where its frames come from: a PostgreSQL walsender, or a simulated one.
// Thread: the loop thread. Nothing here blocks.

#include <cstdint>
#include <string>
#include <string_view>

#include "connector/clock.h"
#include "decoder/lsn.h"

namespace walrelay {

enum class SourceEnd : std::uint8_t {
  none,
  server_closed,    // the server ended the stream in order (CopyDone): it is shutting down
  connection_lost,  // reset, time-out, terminated backend
  error,            // the server reported an error: see SourceError
};

struct SourceError {
  std::string sqlstate;  // "" where the server gave none
  std::string message;   // one line, naming host and reason, without secrets
};

enum class ReceiveStatus : std::uint8_t { frame, nothing_yet, ended };

class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  // One CopyData frame of the replication stream; the view is valid until the next call of receive().
  [[nodiscard]] virtual ReceiveStatus receive(std::string_view& frame) = 0;

  // Why it is over; none while it goes on.
  [[nodiscard]] virtual SourceEnd end() const = 0;
  [[nodiscard]] virtual const SourceError& error() const = 0;

  // Standby status update. All three positions are required: a zero flush position would be taken for the written one
  // by some servers, so none may be invalid. Queued if the socket is full, false if the connection is gone.
  virtual bool send_status(Lsn written, Lsn flushed, Lsn applied, PgTime now, bool reply_requested) = 0;

  // For poll(): the descriptor, and whether something queued waits for it to become writable.
  [[nodiscard]] virtual int descriptor() const = 0;
  [[nodiscard]] virtual bool wants_write() const = 0;
};

}  // namespace walrelay
