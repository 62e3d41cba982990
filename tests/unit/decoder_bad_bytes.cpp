// The decoder trusts no byte: whatever is wrong with a message is an error that names the place.

#include <algorithm>

#include "decoder/pgoutput_decoder.h"
#include "support/catch.h"
#include "support/sample_messages.h"

namespace walrelay::test {
namespace {

// From a buffer of exactly this size on the heap, so that AddressSanitizer sees a read beyond it.
DecodeError decode(const std::string& bytes) {
  const std::vector<char> exact(bytes.begin(), bytes.end());
  PgoutputDecoder decoder;
  PgoutputMessage out;
  return decoder.decode({exact.data(), exact.size()}, out);
}

WireBytes insert_with() { return WireBytes().byte('I').int32(1).byte('N'); }

}  // namespace

TEST_CASE("every message cut at any byte is an error within what is left of it") {
  for (const auto& sample : sample_messages()) {
    for (std::size_t size = 0; size < sample.bytes.size(); ++size) {
      INFO(sample.text << " cut to " << size << " bytes");
      const auto error = decode(sample.bytes.substr(0, size));
      CHECK((error.kind == DecodeErrorKind::truncated || error.kind == DecodeErrorKind::unterminated_string ||
             error.kind == DecodeErrorKind::oversized));
      CHECK(error.offset <= size);
    }
  }
}

TEST_CASE("a byte after any message is an error that points to it") {
  for (const auto& sample : sample_messages()) {
    INFO(sample.text);
    CHECK(decode(sample.bytes + '\0') == DecodeError{DecodeErrorKind::left_over, sample.bytes.size(), 1});
  }
}

TEST_CASE("any single byte may be changed: the answer is a message or an error, and the same each time") {
  for (const auto& sample : sample_messages()) {
    for (std::size_t at = 0; at < sample.bytes.size(); ++at) {
      for (const int value : {0x00, 0x01, 0x7F, 0x80, 0xFF, int{'N'}, int{'t'}}) {
        auto bytes = sample.bytes;
        bytes[at] = static_cast<char>(value);
        CHECK(decode(bytes) == decode(bytes));
      }
    }
  }
}

TEST_CASE("counts and lengths beyond the message are errors before memory is asked for") {
  CHECK(decode(insert_with().int16(32767).null_value()) == DecodeError{DecodeErrorKind::oversized, 6, 32767});
  CHECK(decode(insert_with().int16(1).byte('t').int32(INT32_MAX).raw("abc")) ==
        DecodeError{DecodeErrorKind::oversized, 9, INT32_MAX});
  CHECK(decode(WireBytes().byte('T').int32(INT32_MAX).byte(0).int32(1)) ==
        DecodeError{DecodeErrorKind::oversized, 1, INT32_MAX});
  CHECK(decode(WireBytes().byte('R').int32(1).c_string("").c_string("").byte('d').int16(1600).byte(0)) ==
        DecodeError{DecodeErrorKind::oversized, 8, 1600});
  CHECK(decode(WireBytes().byte('M').byte(1).int64(1).c_string("p").int32(2).raw("x")) ==
        DecodeError{DecodeErrorKind::oversized, 12, 2});
}

TEST_CASE("a count that fits only if it ate the next field ends in an error too") {
  CHECK(decode(WireBytes().byte('T').int32(1).byte(0).raw("abc")) == DecodeError{DecodeErrorKind::truncated, 6, 3});
  CHECK(decode(insert_with().int16(5).text_value("")) == DecodeError{DecodeErrorKind::truncated, 13, 0});
}

TEST_CASE("negative counts and lengths are errors") {
  CHECK(decode(insert_with().int16(-1).null_value()) == DecodeError{DecodeErrorKind::negative, 6, -1});
  CHECK(decode(insert_with().int16(1).byte('t').int32(-1)) == DecodeError{DecodeErrorKind::negative, 9, -1});
  CHECK(decode(WireBytes().byte('T').int32(-2).byte(0)) == DecodeError{DecodeErrorKind::negative, 1, -2});
  CHECK(decode(WireBytes().byte('R').int32(1).c_string("").c_string("").byte('d').int16(-3)) ==
        DecodeError{DecodeErrorKind::negative, 8, -3});
  CHECK(decode(WireBytes().byte('M').byte(1).int64(1).c_string("p").int32(-4)) ==
        DecodeError{DecodeErrorKind::negative, 12, -4});
}

TEST_CASE("flags and markers that the manual does not list are errors at their byte") {
  CHECK(decode(WireBytes().byte('C').byte(1).int64(1).int64(2).int64(3)) ==
        DecodeError{DecodeErrorKind::bad_value, 1, 1});
  CHECK(decode(WireBytes().byte('T').int32(0).byte(4)) == DecodeError{DecodeErrorKind::bad_value, 5, 4});
  CHECK(decode(WireBytes().byte('M').byte(2).int64(1).c_string("").int32(0)) ==
        DecodeError{DecodeErrorKind::bad_value, 1, 2});
  CHECK(decode(WireBytes().byte('R').int32(1).c_string("").c_string("").byte('x').int16(0)) ==
        DecodeError{DecodeErrorKind::bad_value, 7, 'x'});
  CHECK(decode(insert_with().int16(1).byte('x')) == DecodeError{DecodeErrorKind::bad_value, 8, 'x'});
  CHECK(decode(WireBytes().byte('I').int32(1).byte('K').int16(0)) == DecodeError{DecodeErrorKind::bad_value, 5, 'K'});
  CHECK(decode(WireBytes().byte('D').int32(1).byte('N').int16(0)) == DecodeError{DecodeErrorKind::bad_value, 5, 'N'});
  CHECK(decode(WireBytes().byte('U').int32(1).byte('K').int16(0).byte('K').int16(0)) ==
        DecodeError{DecodeErrorKind::bad_value, 8, 'K'});
}

TEST_CASE("messages of streamed and prepared transactions are refused by name, all other tags as unknown") {
  const std::string known = "BCORYIUDTM";
  const std::string streaming = "SEcA";
  const std::string two_phase = "bPKrp";
  for (int tag = 0; tag < 256; ++tag) {
    const auto letter = static_cast<char>(tag);
    if (known.find(letter) != std::string::npos) continue;
    auto kind = DecodeErrorKind::unknown_tag;
    if (streaming.find(letter) != std::string::npos) kind = DecodeErrorKind::streaming_message;
    if (two_phase.find(letter) != std::string::npos) kind = DecodeErrorKind::two_phase_message;
    CHECK(decode(letter + std::string(30, '\0')) == DecodeError{kind, 0, tag});
  }
}

TEST_CASE("a row as wide as its count allows is decoded in one pass") {
  WireBytes bytes = insert_with().int16(32767);
  for (int i = 0; i < 32767; ++i) bytes.null_value();
  CHECK(decode(bytes) == DecodeError{});
}

}  // namespace walrelay::test
