#pragma once
// Fills an event from a row by a bound mapping. Owns the buffers that the event points into.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/json_pointer.h"
#include "decoder/outbox_mapping.h"
#include "decoder/outbox_router.h"

namespace walrelay {

class EventFiller {
 public:
  // The next event; what the last one pointed to is gone.
  void begin(std::size_t outbox, const OutboxMapping& mapping, std::int64_t commit_time);

  void fill(const Binding& binding, Row row);
  // Headers of the event's own (of a message): they replace the mapping's of the same name, a NULL one takes it away.
  void add_headers(std::span<const EventHeader> headers);
  // Keeps the first failure; the other parts are filled all the same.
  void reject(FailureClass failure_class, std::string_view reason);

  // Event or rejection; valid until the next begin().
  [[nodiscard]] Routed finish();

 private:
  void fill_part(const MappedPart& part, const BoundPart& bound, Row row, std::string& scratch);
  [[nodiscard]] NullableBytes value_of(const MappedPart& part, const BoundPart& bound, Row row, std::string& scratch);
  [[nodiscard]] NullableBytes repeated(const MappedPart& part, std::string& scratch) const;
  [[nodiscard]] NullableBytes decoded(const MappedPart& part, NullableBytes hex, std::string& scratch);
  void set_part(const MappedPart& part, NullableBytes value);
  void set_timestamp(NullableBytes text);
  void set_header(std::string_view name, NullableBytes value);
  void check_topic();
  void check_traceparent();
  void check_cloud_event();

  const OutboxMapping* mapping_ = nullptr;
  OutboxEvent event_;
  NullableBytes id_;
  NullableBytes topic_;
  bool rejected_ = false;
  Rejection rejection_;
  std::vector<EventHeader> headers_;
  std::vector<std::string> scratch_;  // one a part
  JsonReader json_;
};

}  // namespace walrelay
