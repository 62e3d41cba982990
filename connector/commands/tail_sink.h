#pragma once
// The sink of `walrelay tail`: hands on the events that were asked for, and lets the others pass.
// Thread: as Sink.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "connector/commands/commands.h"
#include "sinks/sink.h"

namespace walrelay {

class TailSink final : public Sink {
 public:
  TailSink(std::unique_ptr<Sink> output, TailFlags flags);

  // As many as flags.limit are printed.
  [[nodiscard]] bool finished() const { return printed_all() && output_->in_flight_events() == 0; }

  [[nodiscard]] SubmitStatus submit(const OutboxEvent& event, Tag tag) override;
  [[nodiscard]] const Rejection& rejection() const override { return output_->rejection(); }
  [[nodiscard]] std::span<const Delivery> collect(std::size_t limit) override;
  [[nodiscard]] int descriptor() const override { return output_->descriptor(); }
  [[nodiscard]] std::size_t in_flight_events() const override { return output_->in_flight_events() + passed_.size(); }
  [[nodiscard]] std::size_t in_flight_bytes() const override { return output_->in_flight_bytes(); }
  [[nodiscard]] std::optional<std::string> fatal_reason() const override { return output_->fatal_reason(); }
  [[nodiscard]] Health health() const override { return output_->health(); }

 private:
  [[nodiscard]] bool printed_all() const { return flags_.limit && taken_ == *flags_.limit; }
  [[nodiscard]] bool wanted(const OutboxEvent& event) const;

  std::unique_ptr<Sink> output_;
  const TailFlags flags_;
  std::uint64_t taken_ = 0;
  std::vector<Delivery> passed_;      // to be returned by the next collect()
  std::vector<Delivery> deliveries_;  // what the last one returned
};

}  // namespace walrelay
