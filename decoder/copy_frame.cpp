#include "decoder/copy_frame.h"

#include <cstddef>

#include "decoder/wire_reader.h"

namespace walrelay {
namespace {

enum class FrameTag : std::uint8_t { xlog_data = 'w', keepalive = 'k' };

XLogData read_xlog_data(WireReader& in) {
  in.lsn();  // start of the data
  in.lsn();  // the server's current end of WAL
  const auto send_time = in.i64();
  return {.send_time = send_time, .payload = in.rest()};
}

Keepalive read_keepalive(WireReader& in) {
  return {.wal_end = in.lsn(), .send_time = in.i64(), .reply_requested = in.flags(1) != 0};
}

void read_frame(WireReader& in, CopyFrame& out) {
  const auto tag = in.u8();
  // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): any byte may come, the unknown ones leave the switch
  switch (static_cast<FrameTag>(tag)) {
    case FrameTag::xlog_data:
      out = read_xlog_data(in);
      return;
    case FrameTag::keepalive:
      out = read_keepalive(in);
      return;
  }
  in.fail(DecodeErrorKind::unknown_tag, 0, tag);
}

// Appends big-endian bytes to an array whose size the caller has chosen to fit.
class StatusWriter {
 public:
  void put_byte(char byte) { bytes_.at(size_++) = byte; }
  void put_u64(std::uint64_t value) {
    for (unsigned shift = 64; shift > 0; shift -= 8) put_byte(static_cast<char>((value >> (shift - 8)) & 0xFFU));
  }
  [[nodiscard]] const std::array<char, kStatusUpdateBytes>& bytes() const { return bytes_; }

 private:
  std::array<char, kStatusUpdateBytes> bytes_{};
  std::size_t size_ = 0;
};

}  // namespace

DecodeError parse_copy_frame(std::string_view frame, CopyFrame& out) {
  WireReader in(frame);
  read_frame(in, out);
  in.expect_end();
  return in.error();
}

std::array<char, kStatusUpdateBytes> encode_status_update(Lsn written, Lsn flushed, Lsn applied, std::int64_t now,
                                                          bool reply_requested) {
  StatusWriter out;
  out.put_byte('r');
  out.put_u64(written.value);
  out.put_u64(flushed.value);
  out.put_u64(applied.value);
  out.put_u64(static_cast<std::uint64_t>(now));
  out.put_byte(reply_requested ? '\1' : '\0');
  return out.bytes();
}

}  // namespace walrelay
