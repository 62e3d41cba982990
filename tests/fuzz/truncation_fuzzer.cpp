// Whole against cut: what is a message has no prefix that is one, and nothing can follow it; what is a message with
// bytes left over is one without them. A decoder that has just failed reads the same as a new one.

#include <algorithm>
#include <cstdlib>

#include "decoder/pgoutput_decoder.h"
#include "support/describe_message.h"

namespace {

using walrelay::DecodeError;
using walrelay::DecodeErrorKind;
using walrelay::PgoutputDecoder;
using walrelay::PgoutputMessage;

constexpr std::size_t kMaxCuts = 512;  // the cost is quadratic

void require(bool condition) {
  if (!condition) std::abort();
}

// From memory of exactly this size, so that a read beyond it is seen.
DecodeError decode(PgoutputDecoder& decoder, std::string_view bytes, std::string& text) {
  const std::vector<char> exact(bytes.begin(), bytes.end());
  PgoutputMessage message;
  const auto error = decoder.decode({exact.data(), exact.size()}, message);
  text = error.failed() ? error.to_string() : walrelay::test::describe(message);
  return error;
}

void check_message(PgoutputDecoder& used, const std::string& bytes, const std::string& text) {
  std::string ignored;
  for (std::size_t size = 0; size < std::min(bytes.size(), kMaxCuts); ++size) {
    require(decode(used, std::string_view(bytes).substr(0, size), ignored).failed());
  }
  require(decode(used, bytes + 'x', ignored) == DecodeError{DecodeErrorKind::left_over, bytes.size(), 1});
  std::string again;
  require(!decode(used, bytes, again).failed() && again == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  PgoutputDecoder decoder;
  std::string text;
  const auto error = decode(decoder, bytes, text);
  if (!error.failed()) check_message(decoder, bytes, text);
  if (error.kind == DecodeErrorKind::left_over) {
    require(!decode(decoder, std::string_view(bytes).substr(0, error.offset), text).failed());
  }
  return 0;
}
