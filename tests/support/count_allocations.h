#pragma once
// Link count_allocations.cpp into a test to count what operator new hands out, in all threads.

#include <cstddef>

namespace walrelay::test {

std::size_t allocations();

}  // namespace walrelay::test
