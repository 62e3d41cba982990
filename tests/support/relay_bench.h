#pragma once
// A relay on a table-top: scripted source, held sink, set clock.

#include <memory>
#include <string>

#include "connector/relay.h"
#include "tests/support/held_sink.h"
#include "tests/support/scripted_source.h"
#include "tests/support/set_clock.h"
#include "tests/support/stream_bytes.h"

namespace walrelay::test {

inline DeliveryOptions on_error(OnError policy) {
  DeliveryOptions delivery;
  delivery.on_error = policy;
  return delivery;
}

class RelayBench {
 public:
  explicit RelayBench(DeliveryOptions delivery = {}, Lsn confirmed = Lsn{1000})
      : RelayBench(RelayOptions{.delivery = std::move(delivery)}, confirmed) {}
  explicit RelayBench(RelayOptions options, Lsn confirmed = Lsn{1000}, std::vector<OutboxRules> rules = stream_rules())
      : router(std::move(rules)), relay(std::move(options), router, sink, metrics, clock, confirmed, 1) {
    connect();
  }

  // A new session; what the last one had not read is lost with it.
  void connect() {
    relay.end_session();
    source = std::make_unique<ScriptedSource>();
    relay.begin_session(*source, std::chrono::seconds(60), clock.now());
    source->add(relation_frame());
  }

  // A whole transaction: commit record at `end - 8`, one event for each value.
  void transaction(std::uint64_t end, const std::vector<std::string>& values) {
    source->add(begin_frame(Lsn{end - 8}, static_cast<std::uint32_t>(end)));
    for (const auto& value : values) source->add(insert_frame("id-" + value, "k", value));
    source->add(commit_frame(Lsn{end - 8}, Lsn{end}));
  }

  void step(Duration after = {}) {
    clock.advance(after);
    relay.step(clock.now());
  }

  SetClock clock;
  OutboxRouter router;
  HeldSink sink;
  RelayMetrics metrics{1};
  Relay relay;
  std::unique_ptr<ScriptedSource> source;
};

}  // namespace walrelay::test
