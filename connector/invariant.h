#pragma once
// Always-on check of what must hold. The slot is the only durable state and a crash at any instruction is safe, so
// stopping at once is better than confirming something that is not true.

#include <cstdio>
#include <cstdlib>

namespace walrelay {

[[noreturn]] inline void invariant_broken(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "walrelay: broken invariant: %s (%s:%d); nothing further is confirmed\n", condition, file, line);
  std::abort();
}

}  // namespace walrelay

#define WALRELAY_INVARIANT(condition) \
  ((condition) ? static_cast<void>(0) : ::walrelay::invariant_broken(#condition, __FILE__, __LINE__))
