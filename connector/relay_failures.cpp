// What becomes of an event that can never be delivered: halt, dead letter, skip.
#include <fmt/format.h>

#include <utility>

#include "connector/observe/log.h"
#include "connector/relay.h"

namespace walrelay {

void Relay::on_failed(const DeliveryTag& tag, FailedEvent failed) {
  const std::string id = id_of(failed, tag.outbox);
  name_event(failed.rejection, id);
  // A dead letter that is refused stands for an event whose row has been told.
  if (tag.kind == DeliveryTag::Kind::event) tell_row(tag, id, failed.rejection);
  const OnError policy = tag.kind == DeliveryTag::Kind::dead_letter
                             ? OnError::halt
                             : options_.delivery.policy(failed.rejection.failure_class);
  switch (policy) {
    case OnError::halt:
      return halt(failed.rejection, tag, name_of(failed, tag));
    case OnError::dead_letter:
      return send_dead_letter(std::move(failed), tag);
    case OnError::skip:
      count_skipped(failed.rejection, tag);
      return settle(tag.ordinal);
  }
}

std::string Relay::id_of(const FailedEvent& failed, std::size_t outbox) const {
  const auto header = router_.id_header(outbox);
  for (const auto& [name, value] : failed.headers) {
    if (!header.empty() && name == header) return value.value_or("");
  }
  return "";
}

void Relay::on_not_taken(const OutboxEvent& event) {
  Rejection rejection = sink_.rejection();
  name_event(rejection, event.id);
  on_rejected(event, rejection);
}

void Relay::on_rejected(const OutboxEvent& event, const Rejection& rejection) {
  const auto tag = tag_of(event.outbox);
  tell_row(tag, event.id, rejection);
  switch (options_.delivery.policy(rejection.failure_class)) {
    case OnError::halt:
      // Not done: the transaction stays open and is never confirmed.
      return halt(rejection, tag,
                  is_speakable_id(event.id) ? std::string(event.id) : place_by_number(event.commit_lsn, event.index));
    case OnError::dead_letter:
      event_done(true);
      return send_dead_letter(own_event(event, rejection), tag);
    case OnError::skip:
      count_skipped(rejection, tag);
      return event_done(false);
  }
}

void Relay::send_dead_letter(FailedEvent failed, const DeliveryTag& tag) {
  log_failed(EventFate::dead_letter, failed.rejection, tag);
  DeliveryTag letter_tag = tag;
  letter_tag.kind = DeliveryTag::Kind::dead_letter;
  dead_letters_.emplace_back(std::move(failed), options_.delivery.dead_letter_topic, origin(tag), tag.outbox,
                             letter_tag.pack());
  submit_dead_letters();
}

void Relay::submit_dead_letters() {
  while (!dead_letters_.empty()) {
    DeadLetter& letter = dead_letters_.front();
    const auto status = sink_.submit(letter.event(), letter.tag());
    if (status == SubmitStatus::full) return;
    if (status == SubmitStatus::rejected) {
      const auto tag = DeliveryTag::unpack(letter.tag(), frontier_.first());
      halt(sink_.rejection(), tag, name_of(letter.failed(), tag));
    }
    dead_letters_.pop_front();
  }
}

void Relay::skip_named(const OutboxEvent& event) {
  metrics_.events(event.outbox, EventResult::skipped).add(1);
  log_warning("event_skipped", "passed over, as --skip says",
              {{"id", event.id},
               {"outbox", router_.outbox_name(event.outbox)},
               {"place", place_by_number(event.commit_lsn, event.index)}});
  event_done(false);
}

void Relay::count_skipped(const Rejection& rejection, const DeliveryTag& tag) {
  metrics_.events(tag.outbox, EventResult::skipped).add(1);
  log_failed(EventFate::skipped, rejection, tag);
}

void Relay::log_failed(EventFate fate, const Rejection& rejection, const DeliveryTag& tag) {
  failure_log_.tell(fate, rejection, router_.outbox_name(tag.outbox), frontier_.start_of(tag.ordinal).commit_lsn, now_);
}

void Relay::tell_row(const DeliveryTag& tag, std::string_view id, const Rejection& rejection) {
  if (write_back_ == nullptr) return;
  write_back_->failed(tag.outbox, frontier_.start_of(tag.ordinal), id, rejection, now_);
}

std::string Relay::name_of(const FailedEvent& failed, const DeliveryTag& tag) const {
  if (auto id = id_of(failed, tag.outbox); is_speakable_id(id)) return id;
  return place_by_digest(frontier_.start_of(tag.ordinal).commit_lsn, failed.key, failed.value);
}

void Relay::halt(const Rejection& rejection, const DeliveryTag& tag, const std::string& name) {
  sink_.hold();
  if (!halt_reason_.empty()) return;  // the first one is named
  halted_at_ = tag.ordinal;
  const auto& start = frontier_.start_of(tag.ordinal);
  const bool dead_letter = tag.kind == DeliveryTag::Kind::dead_letter;
  halt_reason_ = fmt::format(
      "{} of outbox {} in transaction {} (commit at {}) cannot be delivered: {} ({}); nothing from this transaction on "
      "is confirmed; remove the cause and start again, or go past this one event with: walrelay run --skip {} (and the "
      "other arguments as before), or past all of its class with [delivery] on_error = {}",
      dead_letter ? "the dead letter of an event" : "an event", router_.outbox_name(tag.outbox), start.xid,
      start.commit_lsn.to_string(), rejection.reason, to_string(rejection.failure_class), shell_word(name),
      dead_letter ? "\"skip\""
                  : fmt::format("{{ {} = \"dead-letter\" }} or \"skip\"", to_string(rejection.failure_class)));
  halt_deadline_ = now_ + options_.delivery.drain_timeout;
}

}  // namespace walrelay
