// Any values in a mapped row, any content of a mapped message: an event or a rejection, and the same each time.
// Input: the columns, separated by 0xFE (never in UTF-8); of each a byte for its type, one for its kind, the value.
#include <cstdlib>

#include "decoder/outbox_router.h"

namespace {
using namespace walrelay;
constexpr std::string_view kNames[] = {"id", "topic", "payload", "happened", "raw", "more"};
constexpr std::uint32_t kTypes[] = {25, 114, 3802, 17, 1184, 1114, 1082, 20, 2950};

OutboxRouter make_router() {
  OutboxRules table;
  table.table = "public.outbox";
  table.id = "{id}";
  table.topic = "t.{topic|snake}";
  table.key = "{payload/a/b~1c/0}";
  table.value = "{payload}";
  table.timestamp = "{happened}";
  table.headers = {{"type", "{payload/type|kebab}"}, {"mixed", "{{{topic|upper}-{payload/n}}}"}, {"raw", "{raw}"}};
  OutboxRules messages;
  messages.messages = "events";
  messages.topic = "{type}";
  messages.value = "{payload/a}";
  return OutboxRouter({table, messages});
}

std::string read_all(const Routed& routed) {
  const auto& [status, ignored, rejection, event] = routed;
  if ((status == RouteStatus::rejected) != (rejection != nullptr)) std::abort();
  if (status == RouteStatus::event && (event.topic.empty() || event.timestamp_ms == 0)) std::abort();
  auto text = (rejection ? rejection->reason : std::string{}) + std::to_string(event.timestamp_ms);
  text.append(event.topic).append(event.id).append(event.key.value_or("")).append(event.value.value_or(""));
  for (const auto& header : event.headers) text.append(header.name).append(header.value.value_or(""));
  return text;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static OutboxRouter router = make_router();
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const LogicalMessage message{.transactional = true, .lsn = {}, .prefix = "events", .content = rest};
  std::vector<RelationColumn> columns;
  std::vector<ColumnValue> row;
  for (const auto name : kNames) {
    const auto value = rest.substr(0, rest.find('\xFE'));
    rest.remove_prefix(std::min(rest.size(), value.size() + 1));
    if (value.size() < 2) continue;
    columns.push_back({false, name, kTypes[static_cast<std::uint8_t>(value[0]) % std::size(kTypes)], -1});
    const auto kind = static_cast<ColumnKind>("tnub"[static_cast<std::uint8_t>(value[1]) % 4]);
    row.push_back(
        {kind, kind == ColumnKind::text || kind == ColumnKind::binary ? value.substr(2) : std::string_view{}});
  }
  router.reset();
  router.relation({1, "public", "outbox", 'd', columns});
  if (read_all(router.route(InsertMessage{1, row}, 7)) != read_all(router.route(InsertMessage{1, row}, 7)))
    std::abort();
  if (read_all(router.route(message, 7)) != read_all(router.route(message, 7))) std::abort();
  return 0;
}
