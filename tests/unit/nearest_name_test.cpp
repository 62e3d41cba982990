#include "decoder/nearest_name.h"

#include <array>
#include <string>

#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"slot", "publication", "max_in_flight", "max_in_flight_bytes"};

}  // namespace

TEST_CASE("an insertion, a deletion, a replacement and a swap of neighbours each count one") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("slot", "slots") == 1);
  CHECK(edit_distance("slot", "slt") == 1);
  CHECK(edit_distance("slot", "slut") == 1);
  CHECK(edit_distance("slot", "solt") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("the distance is the same in both directions") {
  for (const auto a : kNames) {
    for (const auto b : kNames) CHECK(edit_distance(a, b) == edit_distance(b, a));
  }
}

TEST_CASE("the nearest of several names is found") {
  CHECK(nearest_name("max_inflight", kNames) == "max_in_flight");
  CHECK(nearest_name("max_inflight_bytes", kNames) == "max_in_flight_bytes");
  CHECK(nearest_name("solt", kNames) == "slot");
  CHECK(nearest_name("slot", kNames) == "slot");
}

TEST_CASE("a name that resembles nothing has no nearest one") {
  CHECK(nearest_name("colour", kNames).empty());
  CHECK(nearest_name("", kNames).empty());
  CHECK(nearest_name("x", {}).empty());
}

TEST_CASE("an endless name is not compared") { CHECK(nearest_name(std::string(100'000, 's'), kNames).empty()); }

}  // namespace walrelay::test
