#pragma once
// Log lines about events that can never be delivered, without a line for each of a hundred thousand: of every class of
// failure a few in a while are named, the others are counted, and told in one line when the while is over. At log level
// debug each one is named.
//
// Thread: one. Whoever logs here calls tell_rest() now and then, and before it ends.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "connector/clock.h"
#include "decoder/failure_class.h"
#include "decoder/lsn.h"
#include "decoder/rejection.h"

namespace walrelay {

enum class EventFate : std::uint8_t { skipped, dead_letter };

class FailureLog {
 public:
  static constexpr std::uint64_t kNamedMax = 10;
  static constexpr Duration kWhile = std::chrono::seconds(10);

  ~FailureLog() { tell_all(); }

  // `commit_lsn`: of its transaction, where that is known.
  void tell(EventFate fate, const Rejection& rejection, std::string_view outbox, std::optional<Lsn> commit_lsn,
            Instant now);
  // How many were not named, where their while is over.
  void tell_rest(Instant now);

 private:
  struct Named {
    Instant since{};
    std::uint64_t count = 0;
    std::uint64_t more = 0;
  };

  void tell_all();
  void tell_more(EventFate fate, FailureClass failure_class, Named& named);

  std::array<std::array<Named, kFailureClassNames.size()>, 2> named_{};
  bool has_rest_ = false;
};

}  // namespace walrelay
