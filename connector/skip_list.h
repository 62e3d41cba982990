#pragma once
// `walrelay run --skip ID`: events that are passed over, each named as the line names it that says why the relay
// halted.
//
// That is the event's id. An event without one is named by its place, "16/B374D848/3": the LSN of its transaction's
// commit record and its number in the transaction, from 0; or, if Kafka refused it after it was sent and the number is
// not known any more, "16/B374D848/~9af31bc04e5d2271": LSN and a digest of key and value.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/outbox_event.h"

namespace walrelay {

[[nodiscard]] std::string place_by_number(Lsn commit_lsn, std::uint64_t index);
[[nodiscard]] std::string place_by_digest(Lsn commit_lsn, const NullableBytes& key, const NullableBytes& value);

// Whether an id can be shown and typed: not empty, not long, nothing but printable ASCII.
[[nodiscard]] bool is_speakable_id(std::string_view id);

// As one word of a shell's command line.
[[nodiscard]] std::string shell_word(std::string_view text);

class SkipList {
 public:
  SkipList() = default;
  explicit SkipList(const std::vector<std::string>& names);

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  // By the event's id, commit_lsn, index, key and value. Allocates only for an event of a transaction that is named.
  [[nodiscard]] bool contains(const OutboxEvent& event) const;

 private:
  struct Entry {
    std::string name;
    std::optional<Lsn> commit_lsn;  // if the name can be a place
  };
  std::vector<Entry> entries_;
};

}  // namespace walrelay
