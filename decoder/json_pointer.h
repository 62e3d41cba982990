#pragma once
// Values out of JSON text by RFC 6901 pointers. The only part of the project that knows its JSON parser (simdjson, on
// demand: numbers are never converted, so that 1.10 and integers of any size stay as they are written).
//
// Duplicate keys: the last one counts, as in PostgreSQL's jsonb and its operators for json.
// A reader checks what it walks over, not each value that it skips: json and jsonb columns are valid anyway.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace walrelay {

struct JsonPointer {
  struct Token {
    std::string name;                  // unescaped: ~1 is "/", ~0 is "~"
    std::optional<std::size_t> index;  // where the name can be one: digits without a leading zero
  };
  std::vector<Token> tokens;  // at least one

  // "/a/b". Nothing if it does not start with "/" or has a "~" that is not ~0 or ~1.
  [[nodiscard]] static std::optional<JsonPointer> parse(std::string_view text);
};

enum class JsonLookup : std::uint8_t {
  found,    // the text has been appended
  null,     // nothing there, or JSON's null
  invalid,  // not JSON, or a string that is not Unicode (half of a surrogate pair)
};

enum class JsonKind : std::uint8_t { null, string, other };

struct JsonMember {
  std::string_view name;  // unescaped
  JsonKind kind = JsonKind::null;
  std::string_view raw;   // as written, without blanks around it
  std::string_view text;  // of a string: unescaped, without quotes; otherwise the same as raw
};

// Owns buffers that grow to the largest text seen lately; nothing is allocated per call after that.
class JsonReader {
 public:
  JsonReader();
  JsonReader(JsonReader&&) noexcept;
  JsonReader& operator=(JsonReader&&) noexcept;
  ~JsonReader();

  // A new row: a text at the address of the last one is another text. Between two calls, pointers into one text share
  // its parse.
  void forget();

  // Appends the value to `out`: a string without quotes and escapes, any other value exactly as written.
  [[nodiscard]] JsonLookup find(std::string_view json, const JsonPointer& pointer, std::string& out);

  // The members of an object in their order, duplicates included; false if the text is not one object. The views are
  // valid until the next call of find() or members().
  [[nodiscard]] bool members(std::string_view json, std::vector<JsonMember>& out);

 private:
  struct Parse;
  std::unique_ptr<Parse> parse_;
};

}  // namespace walrelay
