// The simulation as a program, for the mutants: `sim_seeds FIRST COUNT` ends with 1 at the first seed that fails.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "connector/observe/log.h"
#include "tests/sim/sim_world.h"

int main(int argc, char** argv) {
  using namespace walrelay;
  if (argc != 3) return 2;
  configure_log({.format = LogFormat::text, .level = LogLevel::error});
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  for (auto seed = first; seed < first + count; ++seed) {
    std::string failure = test::SimWorld(seed).run();
    if (failure.empty()) failure = test::SimWorld(seed, true).run_and_set_back();
    if (failure.empty()) continue;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), failure.c_str());
    return 1;
  }
  return 0;
}
