#pragma once
// Publishes events for a command that waits for them: one after another, within the sink's bounds, every
// acknowledgement awaited, and [delivery] on_error applied to what can never be delivered, as the relay does.
//
// Thread: one, which may block here (the sink never does). What ends a command early is the exception PublishStopped:
// events still in flight are then given up with the sink.

#include <cstdint>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
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
  // `id_header`: of its events; "": none.
  std::size_t add_outbox(std::string_view name, std::string_view id_header) {
    outboxes_.push_back({std::string(name), std::string(id_header)});
    return outboxes_.size() - 1;
  }

  // To be called for each event that is refused for good, before the policy deals with it.
  using OnRefused = std::function<void(std::size_t outbox, std::string_view id, const Rejection& rejection)>;
  void on_refused(OnRefused on_refused) { on_refused_ = std::move(on_refused); }

  // Returns once the sink has it, or the policy has dealt with it.
  void publish(OutboxEvent event);
  // What the router could not map.
  void reject(const OutboxEvent& event, const Rejection& rejection);
  // What was looked at and is not to be published: for the meter alone.
  void pass_over() { ++passed_over_; }
  // Until everything so far is settled.
  void settle();
  // The same, of the last ones.
  void finish();
  // To be called while something else is waited for.
  void pulse();

  [[nodiscard]] const PublishTally& tally() const { return tally_; }
  [[nodiscard]] PgTime time() const { return time_; }

 private:
  struct Outbox {
    std::string name;
    std::string id_header;
  };

  std::size_t collect();
  void on_delivery(const Delivery& delivery);
  void on_failed(std::size_t outbox, bool dead_letter, FailedEvent failed);
  void submit_dead_letters();
  [[nodiscard]] std::string_view id_of(const FailedEvent& failed, std::size_t outbox) const;
  void wait();
  [[noreturn]] void halt(std::size_t outbox, bool dead_letter, const Rejection& rejection) const;
  void skip(std::size_t outbox, const Rejection& rejection);

  const DeliveryOptions options_;
  Sink& sink_;
  SignalFd& signals_;
  RowMeter& meter_;
  const Lsn position_;
  const PgTime time_;
  std::vector<Outbox> outboxes_;
  OnRefused on_refused_ = [](std::size_t, std::string_view, const Rejection&) {};
  std::deque<DeadLetter> dead_letters_;  // to be submitted before anything else
  std::uint64_t submitted_ = 0;
  std::uint64_t in_flight_ = 0;
  std::uint64_t passed_over_ = 0;
  FailureLog failure_log_;
  PublishTally tally_;
};

}  // namespace walrelay
