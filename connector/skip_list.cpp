#include "connector/skip_list.h"

#include <fmt/format.h>

#include <algorithm>

namespace walrelay {
namespace {

constexpr std::size_t kIdBytesMax = 200;

// FNV-1a, 64 bits. NULL and empty differ, and so do ("ab", "c") and ("a", "bc").
class Digest {
 public:
  void add(const NullableBytes& bytes) {
    add_byte(bytes ? 1 : 0);
    for (const char c : bytes.value_or(std::string_view{})) add_byte(static_cast<unsigned char>(c));
    add_byte(0);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }

  std::uint64_t value_ = 0xcbf29ce484222325U;
};

std::optional<Lsn> lsn_of_place(std::string_view name) {
  const auto slash = name.rfind('/');
  return slash == std::string_view::npos ? std::nullopt : Lsn::parse(name.substr(0, slash));
}

}  // namespace

std::string place_by_number(Lsn commit_lsn, std::uint64_t index) {
  return fmt::format("{}/{}", commit_lsn.to_string(), index);
}

std::string place_by_digest(Lsn commit_lsn, const NullableBytes& key, const NullableBytes& value) {
  Digest digest;
  digest.add(key);
  digest.add(value);
  return fmt::format("{}/~{:016x}", commit_lsn.to_string(), digest.value());
}

bool is_speakable_id(std::string_view id) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  return !id.empty() && id.size() <= kIdBytesMax && std::ranges::all_of(id, printable);
}

std::string shell_word(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./:").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, plain)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) c == '\'' ? quoted += "'\\''" : quoted += c;
  return quoted + "'";
}

SkipList::SkipList(const std::vector<std::string>& names) {
  for (const auto& name : names) entries_.push_back({name, lsn_of_place(name)});
}

bool SkipList::contains(const OutboxEvent& event) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    if (!event.id.empty() && entry.name == event.id) return true;
    if (entry.commit_lsn != event.commit_lsn) return false;
    return entry.name == place_by_number(event.commit_lsn, event.index) ||
           entry.name == place_by_digest(event.commit_lsn, event.key, event.value);
  });
}

}  // namespace walrelay
