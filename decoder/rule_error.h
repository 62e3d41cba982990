#pragma once
// A mistake in an [[outbox]] of the configuration: thrown while rules are compiled, never while rows are routed.

#include <stdexcept>

namespace walrelay {

// what() is one line that names the outbox or template, the position, the reason and the remedy.
class RuleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace walrelay
