#pragma once
// One text for each decoded message or frame, showing every field. tests/golden/expect.py writes the same text from the
// manual's description, without our decoder.

#include <string>

#include "decoder/copy_frame.h"
#include "decoder/pgoutput_messages.h"

namespace walrelay::test {

// `"a\x00\"b"`: quoted, and anything but printable ASCII as hexadecimal.
std::string quoted(std::string_view bytes);
std::string describe(const PgoutputMessage& message);
std::string describe(const Keepalive& keepalive);

}  // namespace walrelay::test
