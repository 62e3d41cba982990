#pragma once
// The only way bytes from the server are read: a cursor that checks every bound and remembers its first error.
//
// After an error every read gives zero or an empty view, and the cursor stands at the end, so that a message can be
// read field by field and asked once, at its end, whether that went well. Integers are big-endian (PostgreSQL manual,
// "Message Data Types"). Views point into the buffer that the reader was made of. Allocates nothing, throws nothing.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "decoder/decode_error.h"
#include "decoder/lsn.h"

namespace walrelay {

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool ok() const { return !error_.failed(); }
  [[nodiscard]] const DecodeError& error() const { return error_; }
  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - offset_; }

  std::uint8_t u8() { return integer<std::uint8_t>(); }
  std::uint32_t u32() { return integer<std::uint32_t>(); }
  std::uint64_t u64() { return integer<std::uint64_t>(); }
  std::int16_t i16() { return static_cast<std::int16_t>(integer<std::uint16_t>()); }
  std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
  Lsn lsn() { return Lsn{u64()}; }

  // A byte of which only the bits in `allowed` may be set.
  std::uint8_t flags(std::uint8_t allowed) {
    const auto at = offset_;
    const auto value = u8();
    if ((value & ~unsigned{allowed}) == 0) return value;
    fail(DecodeErrorKind::bad_value, at, value);
    return 0;
  }

  // A byte that must be one of `allowed`; after an error the first of them, so that the result is always one of them.
  char one_of(std::string_view allowed) {
    const auto at = offset_;
    const auto value = u8();
    if (allowed.find(static_cast<char>(value)) != std::string_view::npos) return static_cast<char>(value);
    fail(DecodeErrorKind::bad_value, at, value);
    return allowed.front();
  }

  // A zero-terminated string, without its zero.
  std::string_view c_string() {
    const auto length = bytes_.substr(offset_).find('\0');
    if (length == std::string_view::npos) {
      fail(DecodeErrorKind::unterminated_string, offset_, static_cast<std::int64_t>(remaining()));
      return {};
    }
    const auto text = bytes_.substr(offset_, length);
    offset_ += length + 1;
    return text;
  }

  // A 32-bit length and as many bytes.
  std::string_view counted_bytes() { return take(count32(1)); }

  // How many items follow. Never more than the bytes left can hold if each takes at least `item_bytes` (> 0), so the
  // caller may reserve memory for them.
  std::size_t count16(std::size_t item_bytes) {
    const auto at = offset_;
    return checked_count(i16(), at, item_bytes);
  }
  std::size_t count32(std::size_t item_bytes) {
    const auto at = offset_;
    return checked_count(i32(), at, item_bytes);
  }

  // Everything up to the end.
  std::string_view rest() { return take(remaining()); }

  // Must be called last: what is left over is an error.
  void expect_end() {
    if (remaining() != 0) fail(DecodeErrorKind::left_over, offset_, static_cast<std::int64_t>(remaining()));
  }

  // Only the first error counts: the later ones are its consequences.
  void fail(DecodeErrorKind kind, std::size_t at, std::int64_t found) {
    if (ok()) error_ = DecodeError{kind, at, found};
    offset_ = bytes_.size();
  }

 private:
  std::string_view take(std::size_t size) {
    if (size > remaining()) {
      fail(DecodeErrorKind::truncated, offset_, static_cast<std::int64_t>(remaining()));
      return {};
    }
    const auto taken = bytes_.substr(offset_, size);
    offset_ += size;
    return taken;
  }

  template <std::unsigned_integral T>
  T integer() {
    T value = 0;
    for (const char byte : take(sizeof(T)))
      value = static_cast<T>((std::uint64_t{value} << 8U) | static_cast<std::uint8_t>(byte));
    return value;
  }

  std::size_t checked_count(std::int32_t announced, std::size_t at, std::size_t item_bytes) {
    if (announced < 0) {
      fail(DecodeErrorKind::negative, at, announced);
      return 0;
    }
    const auto count = static_cast<std::size_t>(announced);
    if (count > remaining() / item_bytes) {
      fail(DecodeErrorKind::oversized, at, announced);
      return 0;
    }
    return count;
  }

  std::string_view bytes_;
  std::size_t offset_ = 0;
  DecodeError error_;
};

}  // namespace walrelay
