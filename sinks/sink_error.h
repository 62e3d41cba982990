#pragma once
// Thrown while a sink is made, never by its calls: one line for people that names the thing, the reason and the remedy.

#include <stdexcept>

namespace walrelay {

// The configuration is wrong; trying again does not help.
class SinkConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What the sink needs could not be had now (a file that does not open, no more descriptors).
class SinkOpenError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace walrelay
