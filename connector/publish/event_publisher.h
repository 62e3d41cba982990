#pragma once
// Publishes events for a command that waits for them: one after another, within the sink's bounds, every
// acknowledgement awaited, and [delivery] on_error applied to what can never be delivered, as the relay does.
//
// Thread: one, which may block here (the sink never does). What ends a command early is the exception PublishStopped:
// events still in flight are then given up with the sink.

#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "connector/clock.h"
#include "connector/delivery_policy.h"
#include "connector/event_poll.h"
#include "connector/exit_code.h"
#include "connector/failure_log.h"
#include "connector/publish/row_meter.h"
#include "sinks/dead_letter.h"
#include "sinks/sink.h"

namespace walrelay {

class PublishStopped : public std::runtime_error {
 public:
  PublishStopped(ExitCode code, const std::string& reason) : std::runtime_error(reason), code_(code) {}
  [[nodiscard]] ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

struct PublishTally {
  std::uint64_t delivered = 0;
  std::uint64_t dead_letters = 0;
  std::uint64_t skipped = 0;
  [[nodiscard]] std::uint64_t settled() const { return delivered + dead_letters + skipped; }
  // "1200 rows published, 3 of them as dead letters"; `noun`: of one
  [[nodiscard]] std::string to_string(std::string_view noun = "row") const;
};

class EventPublisher {
 public:
  // Position and time stand in for those of the rows' transactions, which are not known any more. Sink, signals and
  // meter belong to the caller and outlive this.
  EventPublisher(DeliveryOptions options, Sink& sink, SignalFd& signals, RowMeter& meter, Lsn position, PgTime time);

  // Gives the number that OutboxEvent::outbox has for events of this outbox: 0, 1, ...
  std::size_t add_outbox(std::string_view name) {
    outboxes_.emplace_back(name);
    return outboxes_.size() - 1;
  }

  // Returns once the sink has it, or the policy has dealt with it.
  void publish(OutboxEvent event);
  // What the router could not map.
  void reject(const OutboxEvent& event, const Rejection& rejection);
  // What was looked at and is not to be published: for the meter alone.
  void pass_over() { ++passed_over_; }
  // Until everything is settled.
  void finish();
  // To be called while something else is waited for.
  void pulse();

  [[nodiscard]] const PublishTally& tally() const { return tally_; }
  [[nodiscard]] PgTime time() const { return time_; }

 private:
  std::size_t collect();
  void on_delivery(const Delivery& delivery);
  void on_failed(std::size_t outbox, bool dead_letter, FailedEvent failed);
  void submit_dead_letters();
  void wait();
  [[noreturn]] void halt(std::size_t outbox, bool dead_letter, const Rejection& rejection) const;
  void skip(std::size_t outbox, const Rejection& rejection);

  const DeliveryOptions options_;
  Sink& sink_;
  SignalFd& signals_;
  RowMeter& meter_;
  const Lsn position_;
  const PgTime time_;
  std::vector<std::string> outboxes_;
  std::deque<DeadLetter> dead_letters_;  // to be submitted before anything else
  std::uint64_t submitted_ = 0;
  std::uint64_t in_flight_ = 0;
  std::uint64_t passed_over_ = 0;
  FailureLog failure_log_;
  PublishTally tally_;
};

}  // namespace walrelay
