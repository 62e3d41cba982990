#include "connector/commands/tail_sink.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace walrelay {
namespace {

bool has_header(const OutboxEvent& event, std::string_view name, std::string_view value) {
  return std::any_of(event.headers.begin(), event.headers.end(),
                     [&](const EventHeader& header) { return header.name == name && header.value == value; });
}

}  // namespace

TailSink::TailSink(std::unique_ptr<Sink> output, TailFlags flags)
    : output_(std::move(output)), flags_(std::move(flags)) {}

SubmitStatus TailSink::submit(const OutboxEvent& event, Tag tag) {
  if (printed_all() || !wanted(event)) {
    passed_.push_back({.tag = tag, .status = DeliveryStatus::persisted});
    return SubmitStatus::accepted;
  }
  const auto status = output_->submit(event, tag);
  if (status == SubmitStatus::accepted) ++taken_;
  return status;
}

std::span<const Delivery> TailSink::collect(std::size_t limit) {
  deliveries_ = std::exchange(passed_, {});
  const auto printed = output_->collect(limit);
  deliveries_.insert(deliveries_.end(), printed.begin(), printed.end());
  return deliveries_;
}

bool TailSink::wanted(const OutboxEvent& event) const {
  if (flags_.topic && event.topic != *flags_.topic) return false;
  if (flags_.id && event.id != *flags_.id) return false;
  if (flags_.key && event.key != std::string_view(*flags_.key)) return false;
  if (flags_.type && !has_header(event, "type", *flags_.type)) return false;
  return std::all_of(flags_.headers.begin(), flags_.headers.end(),
                     [&](const auto& header) { return has_header(event, header.first, header.second); });
}

}  // namespace walrelay
