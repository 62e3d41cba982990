#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "connector/observe/log.h"
#include "tests/sim/sim_world.h"
#include "tests/support/catch.h"

namespace walrelay::test {

namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSeeds = 1'000;
#else
constexpr std::uint64_t kSeeds = 5'000;
#endif

// Every second seed, so that ctest can run two halves side by side.
void survive_seeds(std::uint64_t remainder, const std::function<std::string(std::uint64_t)>& run) {
  configure_log({.format = LogFormat::text, .level = LogLevel::error});
  const auto first = number_from("WALRELAY_SIM_FIRST", 1);
  const auto seeds = number_from("WALRELAY_SIM_SEEDS", kSeeds);
  for (auto seed = first; seed < first + seeds; ++seed) {
    if (seed % 2 != remainder) continue;
    const std::string failure = run(seed);
    if (failure.empty()) continue;
    FAIL(fmt::format("seed {}: {}; replay with WALRELAY_SIM_FIRST={} WALRELAY_SIM_SEEDS=1", seed, failure, seed));
  }
}

}  // namespace

TEST_CASE(
    "whatever breaks when, nothing committed is lost, nothing unstored is confirmed, keys keep their order (even)") {
  survive_seeds(0, [](std::uint64_t seed) { return SimWorld(seed).run(); });
}

TEST_CASE(
    "whatever breaks when, nothing committed is lost, nothing unstored is confirmed, keys keep their order (odd)") {
  survive_seeds(1, [](std::uint64_t seed) { return SimWorld(seed).run(); });
}

TEST_CASE("a server that was set back behind what was published is noticed before anything is published or confirmed") {
  survive_seeds(0, [](std::uint64_t seed) { return SimWorld(seed, true).run_and_set_back(); });
}

}  // namespace walrelay::test
