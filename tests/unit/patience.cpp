#include "connector/patience.h"

#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

using std::chrono::seconds;

TEST_CASE("patience is over once trouble has lasted its time, and begins anew after a success") {
  Patience patience(seconds(10));
  const Instant begin{};
  CHECK(patience.deadline() == Instant::max());
  patience.trouble(begin + seconds(5));
  patience.trouble(begin + seconds(8));
  CHECK(patience.deadline() == begin + seconds(15));
  CHECK_FALSE(patience.over(begin + seconds(14)));
  CHECK(patience.over(begin + seconds(15)));
  patience.success();
  CHECK_FALSE(patience.over(begin + seconds(99)));
  patience.restart(begin + seconds(99));
  CHECK_FALSE(patience.in_trouble());
}

TEST_CASE("time in which the process stood still tries no patience, and the second between two turns does") {
  Patience patience(seconds(10));
  Instant now{};
  patience.turn(now);
  patience.trouble(now);
  for (int i = 0; i < 4; ++i) patience.turn(now += seconds(1));
  patience.turn(now += seconds(60));
  CHECK_FALSE(patience.over(now += seconds(5)));
  CHECK(patience.over(now += seconds(1)));
}

TEST_CASE("trouble that nobody waits for counts from when somebody does") {
  Patience patience(seconds(10));
  patience.trouble(Instant{});
  patience.restart(Instant{} + seconds(20));
  CHECK_FALSE(patience.over(Instant{} + seconds(29)));
  CHECK(patience.over(Instant{} + seconds(30)));
}

}  // namespace
}  // namespace walrelay::test
