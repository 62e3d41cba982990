#include "connector/config/config_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "connector/config/option_values.h"
#include "connector/config/setting_values.h"
#include "decoder/mapping_check.h"
#include "decoder/nearest_name.h"
#include "decoder/outbox_mapping.h"
#include "decoder/outbox_router.h"
#include "decoder/presets.h"
#include "decoder/rule_error.h"
#include "sinks/kafka_options.h"
#include "sinks/sink_error.h"

namespace walrelay {
namespace {

constexpr std::string_view kNotInThisVersion = "is not in this version; remove it";

bool is_flag(std::string_view origin) { return origin.starts_with('-'); }

bool is_section(std::string_view pattern) {
  const auto all = sections();
  return std::any_of(all.begin(), all.end(), [&](const Section& s) { return s.name == pattern; });
}

[[noreturn]] void refuse_unknown(const Setting& setting, std::string_view pattern) {
  if (pattern.starts_with("sink.rabbitmq")) refuse(setting, kNotInThisVersion);
  if (is_section(pattern)) refuse(setting, fmt::format("is a section, not a value; write its keys under it"));
  if (setting.key.starts_with("outbox.") && pattern == setting.key) {
    refuse(setting,
           fmt::format("which outbox? In the file write [[outbox]], with two brackets, for each; with --set write "
                       "outbox.0.{} for the first",
                       setting.key.substr(setting.key.find('.') + 1)));
  }
  const std::string near = nearest_key(setting.key);
  refuse(setting, near.empty() ? "there is no such key; `walrelay config` shows those there are"
                               : fmt::format("there is no such key; did you mean {}?", near));
}

// Replaces the value of a name that is there already, so that an override keeps its place.
void put(std::vector<std::pair<std::string, std::string>>& pairs, const std::string& name, std::string value) {
  const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == name; });
  if (found == pairs.end()) {
    pairs.emplace_back(name, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

std::string checked(const Setting& setting, TextCheck check, bool secret) {
  std::string text = text_value(setting);
  const std::string problem = check(text);
  if (problem.empty()) return text;
  refuse(setting, secret ? problem : fmt::format("{}: {}", shown(setting), problem));
}

template <typename Number, typename Print>
Number within(const Setting& setting, Number value, Number min, Number max, const Print& print,
              std::string_view why_min = "") {
  if (value >= min && value <= max) return value;
  const bool explained = value < min && !why_min.empty();
  refuse(setting, fmt::format("{} is out of range; it must be from {} to {}{}{}", shown(setting), print(min),
                              print(max), explained ? ": " : "", explained ? why_min : ""));
}

std::string print_count(std::uint64_t count) { return fmt::format("{}", count); }

std::string outbox_name(const OutboxRules& rules) {
  return rules.table.empty() ? fmt::format("messages \"{}\"", rules.messages)
                             : fmt::format("table \"{}\"", rules.table);
}

// Names a table and leaves open how its rows become events.
bool unmapped(const OutboxRules& rules) {
  return rules.messages.empty() && rules.preset.empty() && !rules.topic && !rules.value;
}

}  // namespace

void ConfigBuilder::apply(const Setting& setting) {
  const OutboxKey split = split_outbox_key(setting.key);
  if (std::get_if<OddValue>(&setting.value) != nullptr && setting.value == SettingValue(OddValue::empty_table) &&
      is_section(split.pattern)) {
    if (!split.outbox) return;
    OutboxRules& rules = outbox(setting, *split.outbox);
    if (split.pattern == "outbox.*.cloudevents") rules.cloudevents.emplace();  // and its rules are missed later
    return;
  }
  const KeyMatch match = find_option(setting.key);
  if (match.option == nullptr) refuse_unknown(setting, split.pattern);
  const Target target{setting, match};
  std::visit([&](const auto& field) { set(target, field); }, match.option->field);
}

void ConfigBuilder::set(const Target& target, const TextField& field) {
  field.place(config_) = checked(target.setting, field.check, field.secret);
  if (field.as_given != nullptr) field.as_given(config_) = std::get<std::string>(target.setting.value);
}

void ConfigBuilder::set(const Target& target, const CountField& field) {
  field.place(config_) =
      within<std::uint64_t>(target.setting, count_value(target.setting), field.min, field.max, print_count);
}

void ConfigBuilder::set(const Target& target, const SizeField& field) {
  field.place(config_) =
      within<std::uint64_t>(target.setting, size_value(target.setting), field.min, field.max, print_size);
}

void ConfigBuilder::set(const Target& target, const DurationField& field) {
  const std::chrono::milliseconds value(duration_value(target.setting));
  field.place(config_) = within(target.setting, value, field.min, field.max, print_duration);
}

void ConfigBuilder::set(const Target& target, const ChoiceField& field) {
  if (target.setting.key == "sink.type" && target.setting.value == SettingValue("rabbitmq")) {
    refuse(target.setting, "\"rabbitmq\" is not in this version; use kafka, stdout or file");
  }
  field.set(config_, choice_value(target.setting, field.names));
}

void ConfigBuilder::set(const Target& target, const ConstantField& field) {
  if (text_value(target.setting) == field.only) return;
  refuse(target.setting,
         fmt::format("{} is not in this version; remove it or write \"{}\"", shown(target.setting), field.only));
}

void ConfigBuilder::set(const Target& target, const RuleField& field) {
  field.place(outbox(target.setting, target.match.outbox)) = checked(target.setting, field.check, false);
}

void ConfigBuilder::set(const Target& target, const RuleCountField& field) {
  field.place(outbox(target.setting, target.match.outbox)) =
      within<std::uint64_t>(target.setting, count_value(target.setting), field.min, field.max, print_count);
}

void ConfigBuilder::set(const Target& target, const RuleDurationField& field) {
  const std::chrono::milliseconds value(duration_value(target.setting));
  field.place(outbox(target.setting, target.match.outbox)) =
      within(target.setting, value, field.min, field.max, print_duration, field.why_min);
}

void ConfigBuilder::set(const Target& target, const TemplateField& field) {
  field.place(outbox(target.setting, target.match.outbox)) = text_value(target.setting);
}

void ConfigBuilder::set(const Target& target, const HeadersField& field) {
  OutboxRules& rules = outbox(target.setting, target.match.outbox);
  if (target.match.rest.empty()) {
    if (target.setting.value == SettingValue(OddValue::empty_table)) return;
    refuse(target.setting, fmt::format("is a table; write {} = {{ name = \"{{column}}\" }}",
                                       target.match.option->key.substr(target.match.option->key.rfind('.') + 1)));
  }
  put(field.place(rules), target.match.rest, text_value(target.setting));
}

void ConfigBuilder::set(const Target& target, const PolicyField& /*field*/) {
  DeliveryOptions& delivery = config_.delivery;
  const auto word = static_cast<OnError>(choice_value(target.setting, kOnErrorNames));
  if (target.match.rest.empty()) {
    delivery.on_error = word;
    delivery.on_error_by_class.clear();  // one word is meant for every class
  } else if (target.match.rest == "default") {
    delivery.on_error = word;
  } else if (const auto failure_class = parse_failure_class(target.match.rest)) {
    delivery.on_error_by_class[*failure_class] = word;
  } else {
    const std::string_view near = nearest_name(target.match.rest, kFailureClassNames);
    refuse(target.setting,
           fmt::format("no such class of failure; there are default, {}{}", fmt::join(kFailureClassNames, ", "),
                       near.empty() ? std::string() : fmt::format("; did you mean {}?", near)));
  }
}

void ConfigBuilder::set(const Target& target, const PropertiesField& /*field*/) {
  const std::string& name = target.match.rest;
  if (name.empty()) refuse(target.setting, "is a section; write [sink.kafka] and the properties under it");
  std::string value = property_value(target.setting);
  try {
    // One by one, so that the message tells where it stands; the broker is there because none may be named yet.
    validate_kafka_properties({{"bootstrap.servers", "unknown"}, {name, value}});
  } catch (const SinkConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", target.setting.origin, error.what()));
  }
  put(config_.sink.kafka, name, std::move(value));
}

OutboxRules& ConfigBuilder::outbox(const Setting& setting, std::size_t index) {
  auto& outboxes = config_.outboxes;
  if (index > outboxes.size()) {
    refuse(setting, fmt::format("there are only {} outboxes, counted from 0", outboxes.size()));
  }
  if (index == outboxes.size()) {
    outboxes.emplace_back();
    outbox_origins_.push_back({setting.origin, {}});
  } else if (is_flag(setting.origin) && !is_flag(outbox_origins_[index].first)) {
    outbox_origins_[index].overrides.push_back(setting);
  }
  return outboxes[index];
}

// A flag alone where the error names its key, or else the file with all flags that came on top of it.
std::string ConfigBuilder::origin_of(std::size_t index, std::string_view error) const {
  const auto& [first, overrides] = outbox_origins_[index];
  std::vector<std::string> flags;
  for (const auto& setting : overrides) {
    flags.push_back(fmt::format("{} {}", setting.origin, setting.key));
    const auto name = setting.key.substr(setting.key.find('.', sizeof "outbox.") + 1);
    if (error.find(fmt::format(", {}: ", name)) != std::string_view::npos) {
      return flags.back();
    }
  }
  return flags.empty() ? first : fmt::format("{} with {}", first, fmt::join(flags, ", "));
}

void ConfigBuilder::check_duplicates() const {
  const auto& outboxes = config_.outboxes;
  for (std::size_t i = 0; i < outboxes.size(); ++i) {
    for (std::size_t j = i + 1; j < outboxes.size(); ++j) {
      if (outboxes[i].table != outboxes[j].table || outboxes[i].messages != outboxes[j].messages) continue;
      throw ConfigError(fmt::format("{}: outbox.{}: {} has an [[outbox]] already ({}); remove one of the two",
                                    origin_of(j, ""), j, outbox_name(outboxes[j]), origin_of(i, "")));
    }
  }
}

void ConfigBuilder::check_dead_letter() const {
  const DeliveryOptions& delivery = config_.delivery;
  const auto& by_class = delivery.on_error_by_class;
  const bool used =
      delivery.on_error == OnError::dead_letter ||
      std::any_of(by_class.begin(), by_class.end(), [](const auto& p) { return p.second == OnError::dead_letter; });
  if (!used || !delivery.dead_letter_topic.empty()) return;
  throw ConfigError("delivery.dead_letter_topic: empty, but delivery.on_error says dead-letter; name a topic");
}

void ConfigBuilder::check_retention(std::size_t index) const {
  const OutboxRules& rules = config_.outboxes[index];
  const auto fail = [&](std::string_view what) {
    throw ConfigError(fmt::format("{}: outbox.{}.retention: {}", origin_of(index, what), index, what));
  };
  if (rules.retention == RetentionRules{}) return;
  if (rules.table.empty()) fail("messages leave no rows behind that could be deleted; remove it");
  if (!rules.retention.wanted() && !rules.deletes_acknowledged()) {
    fail("what to delete is not said; give keep, max_rows or after = \"ack\"");
  }
  if (rules.retention.keep.count() > 0 && time_column(rules).empty()) {
    fail(
        "keep goes by the age of a row, and timestamp, the column that tells it, is not mapped; write timestamp = "
        "\"{COLUMN}\" in the [[outbox]], or use max_rows instead");
  }
}

void ConfigBuilder::complete_outbox(std::size_t index, Mapping mapping) {
  OutboxRules& rules = config_.outboxes[index];
  const std::string where = fmt::format("{}: outbox.{}", origin_of(index, ""), index);
  if (rules.table.empty() == rules.messages.empty()) {
    throw ConfigError(
        fmt::format("{}: {}; name a table (--table) or a prefix of messages, not both", where,
                    rules.table.empty() ? "neither table nor messages is given" : "both table and messages are given"));
  }
  if (unmapped(rules)) {
    if (mapping == Mapping::optional) return;
    throw ConfigError(
        fmt::format("{}: how rows of {} become events is not said; give a preset (--preset) or topic and value; "
                    "`walrelay init` proposes one",
                    where, outbox_name(rules)));
  }
  try {
    fill_from_preset(rules);
    const OutboxRouter compiled({rules});
    if (rules.writes_back()) static_cast<void>(row_id_column(rules));
  } catch (const RuleError& error) {
    throw ConfigError(fmt::format("{}: {}", origin_of(index, error.what()), error.what()));
  }
  check_retention(index);
}

Config ConfigBuilder::finish(Mapping mapping) {
  for (std::size_t i = 0; i < config_.outboxes.size(); ++i) complete_outbox(i, mapping);
  check_duplicates();
  check_dead_letter();
  return std::move(config_);
}

}  // namespace walrelay
