#pragma once
// Writes bytes as a server would, field by field. Knows nothing of the decoder, so that the two can disagree.

#include <cstdint>
#include <string>
#include <string_view>

namespace walrelay::test {

class WireBytes {
 public:
  WireBytes& byte(std::uint64_t value) { return big_endian(value, 1); }
  WireBytes& int16(std::int64_t value) { return big_endian(static_cast<std::uint64_t>(value), 2); }
  WireBytes& int32(std::int64_t value) { return big_endian(static_cast<std::uint64_t>(value), 4); }
  WireBytes& int64(std::uint64_t value) { return big_endian(value, 8); }
  WireBytes& raw(std::string_view bytes) {
    bytes_.append(bytes);
    return *this;
  }
  WireBytes& c_string(std::string_view text) { return raw(text).byte(0); }
  WireBytes& counted(std::string_view bytes) { return int32(static_cast<std::int64_t>(bytes.size())).raw(bytes); }

  WireBytes& null_value() { return byte('n'); }
  WireBytes& text_value(std::string_view text) { return byte('t').counted(text); }

  operator const std::string&() const {
    return bytes_;
  }  // NOLINT(google-explicit-constructor): builders end in a string

 private:
  WireBytes& big_endian(std::uint64_t value, unsigned bytes) {
    while (bytes-- > 0) bytes_.push_back(static_cast<char>((value >> (8 * bytes)) & 0xFFU));
    return *this;
  }

  std::string bytes_;
};

}  // namespace walrelay::test
