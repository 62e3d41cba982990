#pragma once
// Where a position of the server's log stands for a stream. PostgreSQL: access/xlog_internal.h.

#include "decoder/lsn.h"

namespace walrelay {

// A position may stand behind the header of a page that no record has reached yet; no stream position ever does.
[[nodiscard]] constexpr Lsn before_page_header(Lsn position) {
  constexpr std::uint64_t kPageBytes = 8192;
  constexpr std::uint64_t kHeaderBytes = 24;
  constexpr std::uint64_t kLongHeaderBytes = 40;                       // of a segment's first page
  constexpr std::uint64_t kSegmentBytesMin = std::uint64_t{1} << 20U;  // segments begin at multiples of it
  const auto in_page = position.value % kPageBytes;
  const bool first = position.value % kSegmentBytesMin < kPageBytes;
  return in_page == kHeaderBytes || (first && in_page == kLongHeaderBytes) ? Lsn{position.value - in_page} : position;
}

}  // namespace walrelay
