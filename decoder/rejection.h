#pragma once
// Why one event can never be delivered; found by the router (the row cannot be mapped) or by a sink (it cannot be
// published).

#include <string>
#include <string_view>

#include "decoder/failure_class.h"
#include "decoder/shortened.h"

namespace walrelay {

struct Rejection {
  FailureClass failure_class{};
  std::string reason;  // for people: names the table and column, or the topic, the size, the limit
};

// A sink names topic and size; people look for the row.
inline void name_event(Rejection& rejection, std::string_view id) {
  if (!id.empty()) rejection.reason = std::string("id ").append(shortened(id)) + ": " + rejection.reason;
}

}  // namespace walrelay
