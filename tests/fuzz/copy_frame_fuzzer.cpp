// Any bytes as a CopyData frame: a message whose every byte can be read, or an error that points into the frame.

#include <cstdlib>

#include "decoder/copy_frame.h"
#include "decoder/pgoutput_decoder.h"
#include "support/describe_message.h"

namespace {

using walrelay::DecodeError;

void require(bool condition) {
  if (!condition) std::abort();
}

void require_sound(const DecodeError& error, std::size_t size) {
  require(error.offset <= size);
  require(!error.to_string().empty());
}

// Reads every field and every byte that the message points to.
void read_payload(walrelay::PgoutputDecoder& decoder, std::string_view payload) {
  walrelay::PgoutputMessage message;
  const auto error = decoder.decode(payload, message);
  if (error.failed()) return require_sound(error, payload.size());
  require(!walrelay::test::describe(message).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static walrelay::PgoutputDecoder decoder;  // lives on, as in a session: one input must not harm the next
  const std::string_view frame(reinterpret_cast<const char*>(data), size);
  walrelay::CopyFrame parsed;
  const auto error = walrelay::parse_copy_frame(frame, parsed);
  if (error.failed()) {
    require_sound(error, size);
  } else if (const auto* data_frame = std::get_if<walrelay::XLogData>(&parsed)) {
    read_payload(decoder, data_frame->payload);
  } else {
    require(!walrelay::test::describe(std::get<walrelay::Keepalive>(parsed)).empty());
  }
  return 0;
}
