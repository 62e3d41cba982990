// Which event a name given to --skip means.

#include "connector/skip_list.h"

#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

OutboxEvent event_with(std::string_view id) {
  OutboxEvent event;
  event.id = id;
  event.key = "k";
  event.value = "v";
  event.commit_lsn = Lsn{0x16'B374D848};
  event.index = 3;
  return event;
}

}  // namespace

TEST_CASE("an event is skipped by its id and by no other") {
  const SkipList list({"a", "b"});
  CHECK(list.contains(event_with("a")));
  CHECK(list.contains(event_with("b")));
  CHECK_FALSE(list.contains(event_with("c")));
  CHECK_FALSE(list.contains(event_with("")));
}

TEST_CASE("an event without an id is skipped by commit position and number") {
  CHECK(SkipList({"16/B374D848/3"}).contains(event_with("")));
  CHECK(SkipList({place_by_number(Lsn{0x16'B374D848}, 3)}).contains(event_with("")));
  CHECK_FALSE(SkipList({"16/B374D848/4"}).contains(event_with("")));
  CHECK_FALSE(SkipList({"16/B374D849/3"}).contains(event_with("")));
  CHECK_FALSE(SkipList({"16/B374D848"}).contains(event_with("")));
}

TEST_CASE("an event that lost its number is skipped by commit position, key and value") {
  const Lsn lsn{0x16'B374D848};
  CHECK(SkipList({place_by_digest(lsn, "k", "v")}).contains(event_with("")));
  CHECK_FALSE(SkipList({place_by_digest(Lsn{1}, "k", "v")}).contains(event_with("")));
  for (const auto& [key, value] : std::vector<std::pair<NullableBytes, NullableBytes>>{
           {"k", "w"}, {"l", "v"}, {std::nullopt, "v"}, {"", "kv"}, {"kv", ""}, {"k", std::nullopt}}) {
    CHECK_FALSE(SkipList({place_by_digest(lsn, key, value)}).contains(event_with("")));
  }
  CHECK(place_by_digest(lsn, "", "") != place_by_digest(lsn, std::nullopt, std::nullopt));
}

TEST_CASE("a name is one word of a shell") {
  CHECK(shell_word("690dcdd4-d9b1") == "690dcdd4-d9b1");
  CHECK(shell_word("16/B374D848/3") == "16/B374D848/3");
  CHECK(shell_word("16/B374D848/~9af3") == "'16/B374D848/~9af3'");
  CHECK(shell_word("it's $HOME") == "'it'\\''s $HOME'");
  CHECK(shell_word("") == "''");
}

TEST_CASE("an id that cannot be typed names nothing") {
  CHECK(is_speakable_id("order 42"));
  CHECK_FALSE(is_speakable_id(""));
  CHECK_FALSE(is_speakable_id("two\nlines"));
  CHECK_FALSE(is_speakable_id("\xc3\xbc"));
  CHECK_FALSE(is_speakable_id(std::string(1000, 'x')));
}

}  // namespace walrelay::test
