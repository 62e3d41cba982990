#include "decoder/wire_reader.h"
#include "support/catch.h"
#include "support/wire_bytes.h"

namespace walrelay::test {

TEST_CASE("integers are read big-endian and with their sign") {
  const std::string bytes =
      WireBytes().byte(0xFF).int32(0xFFFFFFFE).int64(0x0102030405060708).int16(-3).int32(-4).int64(0xFB);
  WireReader in(bytes);
  CHECK(in.u8() == 0xFF);
  CHECK(in.u32() == 0xFFFFFFFEU);
  CHECK(in.u64() == 0x0102030405060708U);
  CHECK(in.i16() == -3);
  CHECK(in.i32() == -4);
  CHECK(in.lsn() == Lsn{0xFB});
  in.expect_end();
  CHECK(in.ok());
}

TEST_CASE("text is a view into the buffer, not a copy") {
  const std::string bytes = WireBytes().c_string("name").counted("value");
  WireReader in(bytes);
  CHECK(in.c_string().data() == bytes.data());
  CHECK(in.counted_bytes() == "value");
  in.expect_end();
  CHECK(in.ok());
}

TEST_CASE("only the first error is remembered, and nothing is read after it") {
  const std::string bytes = WireBytes().byte(1).int16(7);
  WireReader in(bytes);
  in.u8();
  CHECK(in.u32() == 0);
  CHECK(in.error() == DecodeError{DecodeErrorKind::truncated, 1, 2});
  CHECK(in.u8() == 0);
  CHECK(in.c_string().empty());
  CHECK(in.counted_bytes().empty());
  CHECK(in.rest().empty());
  CHECK(in.one_of("NO") == 'N');
  CHECK(in.count16(1) == 0);
  in.fail(DecodeErrorKind::bad_value, 9, 9);
  in.expect_end();
  CHECK(in.error() == DecodeError{DecodeErrorKind::truncated, 1, 2});
}

TEST_CASE("a string without its zero byte is an error at its start") {
  WireReader in("\x01name");
  in.u8();
  CHECK(in.c_string().empty());
  CHECK(in.error() == DecodeError{DecodeErrorKind::unterminated_string, 1, 4});
}

TEST_CASE("a count is accepted up to what the bytes left can hold") {
  const std::string bytes = WireBytes().int16(2).raw("1234");
  CHECK(WireReader(bytes).count16(2) == 2);
  WireReader in(bytes);
  CHECK(in.count16(3) == 0);
  CHECK(in.error() == DecodeError{DecodeErrorKind::oversized, 0, 2});
}

TEST_CASE("a negative count or length is an error that shows it") {
  const std::string short_count = WireBytes().int16(-1).raw("1234");
  WireReader count(short_count);
  CHECK(count.count16(1) == 0);
  CHECK(count.error() == DecodeError{DecodeErrorKind::negative, 0, -1});

  const std::string length = WireBytes().int32(INT32_MIN).raw("1234");
  WireReader bytes(length);
  CHECK(bytes.counted_bytes().empty());
  CHECK(bytes.error() == DecodeError{DecodeErrorKind::negative, 0, INT32_MIN});
}

TEST_CASE("undefined bits and markers are errors at their own byte") {
  WireReader flags("\x02");
  CHECK(flags.flags(1) == 0);
  CHECK(flags.error() == DecodeError{DecodeErrorKind::bad_value, 0, 2});

  WireReader marker("?");
  CHECK(marker.one_of("KO") == 'K');
  CHECK(marker.error() == DecodeError{DecodeErrorKind::bad_value, 0, '?'});
}

TEST_CASE("left-over bytes are an error that says where they begin and how many they are") {
  WireReader in("abc");
  in.u8();
  in.expect_end();
  CHECK(in.error() == DecodeError{DecodeErrorKind::left_over, 1, 2});
}

TEST_CASE("a decode error reads as one sentence with its place") {
  CHECK(DecodeError{DecodeErrorKind::unknown_tag, 0, 81}.to_string() == "unknown message tag at byte 0 (found 81)");
  CHECK(to_string(DecodeErrorKind::two_phase_message) == kDecodeErrorTexts.back());
}

}  // namespace walrelay::test
