#pragma once
// Waiting for a condition instead of sleeping and hoping.

#include <chrono>
#include <thread>

namespace walrelay::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Asks every 10 ms, first at once, until `predicate` is true or the time is over. Returns its last answer.
template <typename Predicate>
[[nodiscard]] bool wait_until(milliseconds at_most, Predicate predicate) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (!predicate()) {
    if (std::chrono::steady_clock::now() >= deadline) return predicate();
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

}  // namespace walrelay::test
