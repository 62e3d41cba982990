#include "connector/progress_record.h"

#include <charconv>
#include <concepts>
#include <tuple>

#include "decoder/json_pointer.h"
#include "sinks/json_writer.h"

namespace walrelay {
namespace {

class Fields {
 public:
  explicit Fields(std::string_view json) : json_(json) {}

  std::optional<std::string> text(const char* pointer) {
    std::string value;
    if (reader_.find(json_, *JsonPointer::parse(pointer), value) != JsonLookup::found) return std::nullopt;
    return value;
  }

  template <std::integral Number>
  std::optional<Number> number(const char* pointer) {
    const auto digits = text(pointer);
    if (!digits) return std::nullopt;
    Number value = 0;
    const auto [stop, error] = std::from_chars(digits->data(), digits->data() + digits->size(), value);
    if (error != std::errc{} || stop != digits->data() + digits->size()) return std::nullopt;
    return value;
  }

  std::optional<Lsn> lsn(const char* pointer) {
    const auto value = text(pointer);
    return value ? Lsn::parse(*value) : std::nullopt;
  }

 private:
  std::string json_;
  JsonReader reader_;
};

// False if there is half of one.
bool read_commit(Fields& fields, std::optional<CommitMark>& commit) {
  const auto end_lsn = fields.lsn("/commit/end_lsn");
  const auto xid = fields.number<std::uint32_t>("/commit/xid");
  const auto time = fields.number<PgTime>("/commit/time");
  if (end_lsn && xid && time) commit = CommitMark{*end_lsn, *xid, *time};
  return commit || (!end_lsn && !xid && !time);
}

bool same_life(const ProgressRecord& a, const ProgressRecord& b) {
  return std::tie(a.generation, a.system_identifier, a.database) ==
         std::tie(b.generation, b.system_identifier, b.database);
}

}  // namespace

std::string to_json(const ProgressRecord& record) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().key("slot").string(record.slot).key("generation").integer(record.generation);
  json.key("system_identifier").string(record.system_identifier).key("timeline").integer(record.timeline);
  json.key("database").string(record.database).key("position").string(record.position.to_string()).key("commit");
  if (record.commit) {
    json.begin_object().key("end_lsn").string(record.commit->end_lsn.to_string());
    json.key("xid").integer(record.commit->xid).key("time").integer(record.commit->time).end_object();
  } else {
    json.null();
  }
  json.end_object();
  return text;
}

std::optional<ProgressRecord> parse_progress(std::string_view json) {
  Fields fields(json);
  const auto slot = fields.text("/slot");
  const auto generation = fields.number<std::uint64_t>("/generation");
  const auto system_identifier = fields.text("/system_identifier");
  const auto timeline = fields.number<std::uint32_t>("/timeline");
  const auto database = fields.text("/database");
  const auto position = fields.lsn("/position");
  if (!slot || !generation || !system_identifier || !timeline || !database || !position) return std::nullopt;
  ProgressRecord record{*slot, *generation, *system_identifier, *timeline, *database, *position, std::nullopt};
  if (!read_commit(fields, record.commit)) return std::nullopt;
  return record;
}

std::optional<ProgressRecord> choose_progress(std::span<const std::string> records) {
  std::optional<ProgressRecord> chosen;
  for (const auto& text : records) {
    auto record = parse_progress(text);
    if (!record) {
      chosen.reset();
      continue;
    }
    // A later one counts unless it is only an older position of the same slot, or of one that was since replaced.
    const bool older = chosen && (record->generation < chosen->generation ||
                                  (same_life(*record, *chosen) && std::tie(record->timeline, record->position) <
                                                                      std::tie(chosen->timeline, chosen->position)));
    if (!older) chosen = std::move(record);
  }
  return chosen;
}

}  // namespace walrelay
