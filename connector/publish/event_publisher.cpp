#include "connector/publish/event_publisher.h"

#include <fmt/format.h>

#include <utility>

namespace walrelay {
namespace {

constexpr std::chrono::milliseconds kWait{200};
constexpr std::size_t kDeliveriesPerCall = 4096;
constexpr std::uint64_t kEventsPerPulse = 256;

Tag tag_of(std::size_t outbox, bool dead_letter) { return Tag{outbox} << 1U | (dead_letter ? 1U : 0U); }

}  // namespace

std::string PublishTally::to_string(std::string_view noun) const {
  const auto published = delivered + dead_letters;
  auto text = fmt::format("{} {}{} published", published, noun, published == 1 ? "" : "s");
  if (dead_letters > 0) text += fmt::format(", {} of them as dead letters", dead_letters);
  if (skipped > 0) text += fmt::format(", {} skipped", skipped);
  return text;
}

EventPublisher::EventPublisher(DeliveryOptions options, Sink& sink, SignalFd& signals, RowMeter& meter, Lsn position,
                               PgTime time)
    : options_(std::move(options)), sink_(sink), signals_(signals), meter_(meter), position_(position), time_(time) {}

void EventPublisher::publish(OutboxEvent event) {
  event.commit_lsn = position_;
  event.index = submitted_;
  while (true) {
    while (!dead_letters_.empty()) wait();
    const auto status = sink_.submit(event, tag_of(event.outbox, false));
    if (status == SubmitStatus::accepted) break;
    if (status == SubmitStatus::full) {
      wait();
      continue;
    }
    Rejection rejection = sink_.rejection();
    name_event(rejection, event.id);
    return reject(event, rejection);
  }
  ++in_flight_;
  if (++submitted_ % kEventsPerPulse == 0) pulse();
}

void EventPublisher::reject(const OutboxEvent& event, const Rejection& rejection) {
  on_refused_(event.outbox, event.id, rejection);
  switch (options_.policy(rejection.failure_class)) {
    case OnError::halt:
      halt(event.outbox, false, rejection);
    case OnError::dead_letter:
      on_failed(event.outbox, false, own_event(event, rejection));
      return;
    case OnError::skip:
      skip(event.outbox, rejection);
  }
}

void EventPublisher::settle() {
  while (in_flight_ > 0 || !dead_letters_.empty()) wait();
}

void EventPublisher::finish() {
  settle();
  meter_.finish(tally_.settled() + passed_over_, SystemClock().now());
}

void EventPublisher::pulse() {
  collect();
  submit_dead_letters();
  if (const auto signal = signals_.take()) {
    throw PublishStopped(*signal == SIGINT ? ExitCode::interrupted : ExitCode::terminated,
                         fmt::format("ended by a signal; {}", tally_.to_string()));
  }
  failure_log_.tell_rest(SystemClock().now());
  const auto health = sink_.health();
  meter_.show(tally_.settled() + passed_over_, health.reachable ? "" : health.why, SystemClock().now());
}

void EventPublisher::wait() {
  if (collect() == 0) {
    EventPoll poll;
    poll.add(sink_.descriptor());
    poll.add(signals_.descriptor());
    poll.wait(kWait);
  }
  pulse();
}

std::size_t EventPublisher::collect() {
  const auto deliveries = sink_.collect(kDeliveriesPerCall);
  for (const auto& delivery : deliveries) on_delivery(delivery);
  if (const auto fatal = sink_.fatal_reason()) {
    throw PublishStopped(ExitCode::check_failed, fmt::format("{}; {}", *fatal, tally_.to_string()));
  }
  return deliveries.size();
}

void EventPublisher::on_delivery(const Delivery& delivery) {
  --in_flight_;
  const bool dead_letter = (delivery.tag & 1U) != 0;
  const auto outbox = static_cast<std::size_t>(delivery.tag >> 1U);
  if (delivery.status == DeliveryStatus::persisted) ++(dead_letter ? tally_.dead_letters : tally_.delivered);
  if (delivery.status != DeliveryStatus::failed) return;  // in doubt: the sink is finished
  auto failed = *delivery.failed;
  const std::string id(id_of(failed, outbox));
  name_event(failed.rejection, id);
  // A dead letter that is refused stands for an event that was told.
  if (!dead_letter) on_refused_(outbox, id, failed.rejection);
  on_failed(outbox, dead_letter, std::move(failed));
}

std::string_view EventPublisher::id_of(const FailedEvent& failed, std::size_t outbox) const {
  const auto& id_header = outboxes_[outbox].id_header;
  for (const auto& [name, value] : failed.headers) {
    if (!id_header.empty() && name == id_header) return value ? std::string_view(*value) : "";
  }
  return "";
}

void EventPublisher::on_failed(std::size_t outbox, bool dead_letter, FailedEvent failed) {
  const auto policy = dead_letter ? OnError::halt : options_.policy(failed.rejection.failure_class);
  if (policy == OnError::halt) halt(outbox, dead_letter, failed.rejection);
  if (policy == OnError::skip) return skip(outbox, failed.rejection);
  failure_log_.tell(EventFate::dead_letter, failed.rejection, outboxes_[outbox].name, std::nullopt,
                    SystemClock().now());
  const EventOrigin origin{outboxes_[outbox].name, position_, 0, time_};
  dead_letters_.emplace_back(std::move(failed), options_.dead_letter_topic, origin, outbox, tag_of(outbox, true));
}

void EventPublisher::submit_dead_letters() {
  while (!dead_letters_.empty()) {
    auto& letter = dead_letters_.front();
    const auto status = sink_.submit(letter.event(), letter.tag());
    if (status == SubmitStatus::full) return;
    if (status == SubmitStatus::rejected) halt(static_cast<std::size_t>(letter.tag() >> 1U), true, sink_.rejection());
    ++in_flight_;
    dead_letters_.pop_front();
  }
}

void EventPublisher::skip(std::size_t outbox, const Rejection& rejection) {
  ++tally_.skipped;
  failure_log_.tell(EventFate::skipped, rejection, outboxes_[outbox].name, std::nullopt, SystemClock().now());
}

void EventPublisher::halt(std::size_t outbox, bool dead_letter, const Rejection& rejection) const {
  const auto name = to_string(rejection.failure_class);
  throw PublishStopped(
      ExitCode::poison,
      fmt::format("{} of outbox {} cannot be delivered: {} ({}); {}; remove the cause and start again, or let the row "
                  "pass with [delivery] on_error = {}",
                  dead_letter ? "the dead letter of a row" : "a row", outboxes_[outbox].name, rejection.reason, name,
                  tally_.to_string(),
                  dead_letter ? "\"skip\"" : fmt::format("{{ {} = \"dead-letter\" }} or \"skip\"", name)));
}

}  // namespace walrelay
