#include "connector/progress_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connector/clock.h"
#include "connector/delivery_tag.h"
#include "connector/event_poll.h"

namespace walrelay {
namespace {

constexpr std::size_t kDeliveriesMax = 64;

using MaybeDelivery = std::optional<Delivery>;

// Deliveries that come in are looked at by `take`. Throws when the time is over.
template <typename Take>
void wait_for(Sink& sink, Instant deadline, const std::string& what, Take take) {
  EventPoll poll;
  while (true) {
    for (const auto& delivery : sink.collect(kDeliveriesMax)) {
      if (take(MaybeDelivery(delivery))) return;
    }
    if (const auto fatal = sink.fatal_reason()) throw ProgressError(*fatal);
    const Instant now = SystemClock().now();
    if (now >= deadline) {
      const auto health = sink.health();
      throw ProgressError(fmt::format("{}: {}", what, health.reachable ? "no answer came in time" : health.why));
    }
    poll.clear();
    poll.add(sink.descriptor());
    poll.wait(std::min<Duration>(deadline - now, std::chrono::milliseconds(10)));
    if (take(MaybeDelivery())) return;
  }
}

}  // namespace

std::optional<std::vector<std::string>> read_progress_records(Sink& sink, const std::string& slot,
                                                              std::chrono::milliseconds at_most) {
  StoredProgress progress = sink.read_progress(slot);
  if (progress.state == StoredProgress::State::pending) {
    wait_for(sink, SystemClock().now() + at_most, "the progress record cannot be read", [&](const MaybeDelivery&) {
      progress = sink.read_progress(slot);
      return progress.state != StoredProgress::State::pending;
    });
  }
  if (progress.state == StoredProgress::State::refused) throw ProgressError(progress.reason);
  if (progress.state == StoredProgress::State::unsupported) return std::nullopt;
  return std::move(progress.records);
}

void write_progress_record(Sink& sink, const std::string& slot, const std::optional<ProgressRecord>& record,
                           std::chrono::milliseconds at_most) {
  const std::string text = record ? to_json(*record) : std::string();
  const NullableBytes bytes = record ? NullableBytes(text) : std::nullopt;
  const Tag tag = DeliveryTag{.kind = DeliveryTag::Kind::progress, .epoch = 0, .outbox = 0, .ordinal = 0}.pack();
  auto submitted = SubmitStatus::full;
  wait_for(sink, SystemClock().now() + at_most, "the progress record cannot be written", [&](const MaybeDelivery& d) {
    if (submitted == SubmitStatus::full) submitted = sink.submit_progress(slot, bytes, tag);
    if (submitted == SubmitStatus::rejected) throw ProgressError(sink.rejection().reason);
    if (!d || d->tag != tag) return false;
    if (d->status == DeliveryStatus::failed) throw ProgressError(d->failed->rejection.reason);
    return d->status == DeliveryStatus::persisted;
  });
}

}  // namespace walrelay
