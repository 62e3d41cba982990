#pragma once
// One [[outbox]] of the configuration: how a row of one table (or a message of one prefix) becomes an event.
// Templates are still text here; OutboxRouter compiles them.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace walrelay {

// [outbox.retention]: which published rows of the table are deleted, and at what pace.
struct RetentionRules {
  std::chrono::milliseconds keep{0};  // older rows are deleted; 0: whatever their age
  std::size_t max_rows = 0;           // the oldest above this number are deleted; 0: however many
  std::chrono::milliseconds interval{60'000};
  std::size_t batch = 1000;  // rows by one statement
  std::string after = {};    // "ack": each row is deleted as soon as its event has been acknowledged; "": not by that

  [[nodiscard]] bool wanted() const { return keep.count() > 0 || max_rows > 0; }
  bool operator==(const RetentionRules&) const = default;
};

// [outbox.cloudevents]: CloudEvents 1.0 in binary mode, attributes as headers. Templates.
struct CloudEventRules {
  std::optional<std::string> source;                            // required
  std::optional<std::string> type;                              // unset: as the header `type`
  std::optional<std::string> subject;                           // unset: none
  std::optional<std::string> dataschema;                        // unset: none
  std::optional<std::string> datacontenttype;                   // unset: application/json; "": none
  std::vector<std::pair<std::string, std::string>> extensions;  // name, template
};

struct OutboxRules {
  // Exactly one of the two is set.
  std::string table;     // "schema.table", exactly as in the catalog, split at the first dot
  std::string messages;  // prefix of pg_logical_emit_message

  std::string preset;  // what filled the templates below that were not given; for messages to people

  // Unset: not part of the event. Only `topic` and `value` are always set for a table.
  std::optional<std::string> id;
  std::optional<std::string> topic;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::optional<std::string> timestamp;                      // "{column}"; unset: the commit's time
  std::vector<std::pair<std::string, std::string>> headers;  // name, template; in the order they are sent
  std::string id_header = "id";                              // "" sends none
  std::optional<CloudEventRules> cloudevents;

  // Columns for write-back; "" if there is none. processed_at is NULL until the row has been published, by walrelay or
  // a worker before it.
  std::string processed_at;
  std::string attempts;  // counts the times that its event was refused for good
  std::string error;     // why, the last time

  // A row is deleted, or marked, once its event has been acknowledged.
  [[nodiscard]] bool deletes_acknowledged() const { return retention.after == "ack"; }
  [[nodiscard]] bool marks_delivered() const { return deletes_acknowledged() || !processed_at.empty(); }
  // Why its event was not delivered is told in its row.
  [[nodiscard]] bool tells_failures() const { return !attempts.empty() || !error.empty(); }
  [[nodiscard]] bool writes_back() const { return marks_delivered() || tells_failures(); }

  // Columns that only a preset asks for and that a table may lack: a template that names one is then dropped.
  std::vector<std::string> optional_columns;

  RetentionRules retention;
};

}  // namespace walrelay
