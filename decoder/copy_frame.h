#pragma once
// The frames inside the CopyData messages of a replication connection, and the one that the client sends back.
// Source: PostgreSQL manual, "Streaming Replication Protocol", START_REPLICATION. Pure functions, any thread.

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

#include "decoder/decode_error.h"
#include "decoder/lsn.h"

namespace walrelay {

// 'w'. The frame's own positions are left out on purpose: they go backwards from one message to the next and are 0/0
// for some, so nothing may be concluded from them. Positions come from Commit and keepalives.
struct XLogData {
  std::int64_t send_time;    // µs since 2000-01-01, the server's clock
  std::string_view payload;  // one pgoutput message; points into the frame
};

// 'k'. While a transaction is being sent, wal_end is not past the start of that transaction's commit record.
struct Keepalive {
  Lsn wal_end;
  std::int64_t send_time;  // µs since 2000-01-01, the server's clock
  bool reply_requested;    // answer at once, or the server takes us for dead
};

using CopyFrame = std::variant<XLogData, Keepalive>;

// Takes the frame apart. On an error `out` means nothing. Offsets in the error count from the start of the frame.
[[nodiscard]] DecodeError parse_copy_frame(std::string_view frame, CopyFrame& out);

inline constexpr std::size_t kStatusUpdateBytes = 34;

// 'r', the standby status update. `now` in µs since 2000-01-01. `flushed` is what becomes the slot's
// confirmed_flush_lsn.
[[nodiscard]] std::array<char, kStatusUpdateBytes> encode_status_update(Lsn written, Lsn flushed, Lsn applied,
                                                                        std::int64_t now, bool reply_requested);

}  // namespace walrelay
