#include "sinks/dead_letter.h"

#include <fmt/format.h>

#include <utility>

namespace walrelay {

namespace {

std::optional<std::string> owned(const NullableBytes& bytes) {
  return bytes ? std::optional<std::string>(*bytes) : std::nullopt;
}

NullableBytes viewed(const std::optional<std::string>& bytes) { return bytes ? NullableBytes(*bytes) : std::nullopt; }

std::int64_t unix_ms(std::int64_t pg_time_us) { return pg_time_us / 1000 + 946'684'800'000; }

}  // namespace

FailedEvent own_event(const OutboxEvent& event, Rejection rejection) {
  FailedEvent failed{.rejection = std::move(rejection),
                     .topic = std::string(event.topic),
                     .key = owned(event.key),
                     .value = owned(event.value),
                     .headers = {},
                     .timestamp_ms = event.timestamp_ms};
  for (const auto& header : event.headers) failed.headers.emplace_back(header.name, owned(header.value));
  return failed;
}

DeadLetter::DeadLetter(FailedEvent failed, std::string topic, const EventOrigin& origin, std::size_t outbox, Tag tag)
    : failed_(std::move(failed)), topic_(std::move(topic)), outbox_(outbox), tag_(tag) {
  // A time that was not known, or that the broker refuses, is no time for the dead letter either.
  if (failed_.timestamp_ms == 0 || failed_.rejection.failure_class == FailureClass::timestamp) {
    failed_.timestamp_ms = unix_ms(origin.commit_time);
  }
  const auto add = [this](const char* name, std::string value) {
    failed_.headers.emplace_back(name, std::move(value));
  };
  add("walrelay-error-class", std::string(to_string(failed_.rejection.failure_class)));
  add("walrelay-error-message", failed_.rejection.reason);
  add("walrelay-topic", failed_.topic);
  add("walrelay-outbox", origin.outbox);
  add("walrelay-lsn", origin.commit_lsn.to_string());
  add("walrelay-xid", fmt::to_string(origin.xid));
  add("walrelay-commit-time", fmt::to_string(unix_ms(origin.commit_time)));
}

OutboxEvent DeadLetter::event() {
  header_views_.clear();
  for (const auto& [name, value] : failed_.headers) header_views_.push_back({name, viewed(value)});
  OutboxEvent event;
  event.outbox = outbox_;
  event.topic = topic_;
  event.key = viewed(failed_.key);
  event.value = viewed(failed_.value);
  event.headers = header_views_;
  event.timestamp_ms = failed_.timestamp_ms;
  return event;
}

}  // namespace walrelay
