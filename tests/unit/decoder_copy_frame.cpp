#include "decoder/copy_frame.h"
#include "support/catch.h"
#include "support/wire_bytes.h"

namespace walrelay::test {
namespace {

std::string xlog_data(std::string_view payload) {
  return WireBytes().byte('w').int64(1).int64(2).int64(3).raw(payload);
}

std::string keepalive(std::uint64_t reply) { return WireBytes().byte('k').int64(0x1'0000'00AB).int64(42).byte(reply); }

DecodeError parse(const std::string& frame) {
  CopyFrame out;
  return parse_copy_frame(frame, out);
}

}  // namespace

TEST_CASE("an XLogData frame gives the time when it was sent, and its payload in place") {
  const auto frame = xlog_data("payload");
  CopyFrame out;
  REQUIRE(!parse_copy_frame(frame, out).failed());
  CHECK(std::get<XLogData>(out).send_time == 3);
  const auto payload = std::get<XLogData>(out).payload;
  CHECK(payload == "payload");
  CHECK(payload.data() == frame.data() + 25);
}

TEST_CASE("a keepalive gives position, time and whether a reply is wanted") {
  CopyFrame out;
  REQUIRE(!parse_copy_frame(keepalive(1), out).failed());
  CHECK(std::get<Keepalive>(out).wal_end == Lsn{0x1'0000'00AB});
  CHECK(std::get<Keepalive>(out).send_time == 42);
  CHECK(std::get<Keepalive>(out).reply_requested);

  REQUIRE(!parse_copy_frame(keepalive(0), out).failed());
  CHECK(!std::get<Keepalive>(out).reply_requested);
}

TEST_CASE("a frame cut anywhere is an error") {
  const auto data = xlog_data("");
  for (std::size_t size = 0; size < data.size(); ++size)
    CHECK(parse(data.substr(0, size)).kind == DecodeErrorKind::truncated);
  const auto alive = keepalive(1);
  for (std::size_t size = 0; size < alive.size(); ++size)
    CHECK(parse(alive.substr(0, size)).kind == DecodeErrorKind::truncated);
}

TEST_CASE("what follows a keepalive is an error, and so is a reply flag that is neither 0 nor 1") {
  CHECK(parse(keepalive(1) + "x") == DecodeError{DecodeErrorKind::left_over, 18, 1});
  CHECK(parse(keepalive(2)) == DecodeError{DecodeErrorKind::bad_value, 17, 2});
}

TEST_CASE("every other first byte of a frame is an error") {
  for (int tag = 0; tag < 256; ++tag) {
    if (tag == 'w' || tag == 'k') continue;
    CHECK(parse(static_cast<char>(tag) + std::string(40, '\0')) == DecodeError{DecodeErrorKind::unknown_tag, 0, tag});
  }
}

TEST_CASE("a status update carries written, flushed and applied in this order") {
  const auto bytes = encode_status_update(Lsn{0x1'0000'0003}, Lsn{2}, Lsn{1}, -5, true);
  const std::string expected =
      WireBytes().byte('r').int64(0x1'0000'0003).int64(2).int64(1).int64(static_cast<std::uint64_t>(-5)).byte(1);
  CHECK(std::string(bytes.begin(), bytes.end()) == expected);
  CHECK(encode_status_update(Lsn{3}, Lsn{2}, Lsn{1}, 0, false).back() == '\0');
}

}  // namespace walrelay::test
