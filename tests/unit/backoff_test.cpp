#include "connector/backoff.h"

#include <vector>

#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

using std::chrono::milliseconds;
constexpr BackoffLimits kLimits{.first = milliseconds(100), .cap = milliseconds(1500)};

std::vector<Duration> delays(std::uint64_t seed, std::size_t count) {
  Backoff backoff(kLimits, seed);
  std::vector<Duration> result;
  result.reserve(count);
  for (std::size_t i = 0; i < count; ++i) result.push_back(backoff.next());
  return result;
}

}  // namespace

TEST_CASE("delays double up to the cap and are shortened by at most a half") {
  const std::vector<milliseconds> longest = {milliseconds(100), milliseconds(200),  milliseconds(400),
                                             milliseconds(800), milliseconds(1500), milliseconds(1500),
                                             milliseconds(1500)};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto got = delays(seed, longest.size());
    for (std::size_t i = 0; i < longest.size(); ++i) {
      CAPTURE(seed, i);
      CHECK(got[i] >= longest[i] / 2);
      CHECK(got[i] <= longest[i]);
    }
  }
}

TEST_CASE("the same seed gives the same delays, another one others") {
  CHECK(delays(7, 10) == delays(7, 10));
  CHECK(delays(7, 10) != delays(8, 10));
}

TEST_CASE("after a success the delays start over") {
  Backoff backoff(kLimits, 1);
  for (int i = 0; i < 10; ++i) CHECK(backoff.next() > Duration::zero());
  backoff.reset();
  CHECK(backoff.next() <= kLimits.first);
}

TEST_CASE("a first delay above the cap is capped") {
  Backoff backoff({.first = std::chrono::hours(1), .cap = milliseconds(10)}, 1);
  CHECK(backoff.next() <= milliseconds(10));
}

}  // namespace walrelay::test
