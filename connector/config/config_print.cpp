#include "connector/config/config_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "connector/config/dsn.h"
#include "connector/config/option_values.h"
#include "decoder/presets.h"
#include "sinks/kafka_options.h"

namespace walrelay {
namespace {

bool bare_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::string toml_key(std::string_view key) { return bare_key(key) ? std::string(key) : toml_string(key); }

std::string_view on_error_name(OnError word) { return kOnErrorNames[static_cast<std::size_t>(word)]; }

std::string print_policy(const DeliveryOptions& delivery) {
  if (delivery.on_error_by_class.empty()) return toml_string(on_error_name(delivery.on_error));
  std::string table = fmt::format("{{ default = {}", toml_string(on_error_name(delivery.on_error)));
  for (const auto& [failure_class, word] : delivery.on_error_by_class) {
    table += fmt::format(", {} = {}", to_string(failure_class), toml_string(on_error_name(word)));
  }
  return table + " }";
}

using Headers = std::vector<std::pair<std::string, std::string>>;

std::string print_headers(const Headers& headers) {
  std::string table = "{";
  for (const auto& [name, value] : headers) {
    table += fmt::format("{} {} = {}", table.size() == 1 ? "" : ",", toml_key(name), toml_string(value));
  }
  return table + " }";
}

// "" where the option belongs to an [[outbox]] or is a table of its own.
struct PrintValue {
  Config& config;

  std::string operator()(const TextField& field) const {
    const std::string& text = field.place(config);
    return toml_string(field.secret && !text.empty() ? masked_conninfo(text) : text);
  }
  std::string operator()(const CountField& field) const { return fmt::format("{}", field.place(config)); }
  std::string operator()(const SizeField& field) const { return toml_string(print_size(field.place(config))); }
  std::string operator()(const DurationField& field) const { return toml_string(print_duration(field.place(config))); }
  std::string operator()(const ChoiceField& field) const { return toml_string(field.names[field.get(config)]); }
  std::string operator()(const ConstantField& field) const { return toml_string(field.only); }
  std::string operator()(const PolicyField& /*field*/) const { return print_policy(config.delivery); }
  std::string operator()(const RuleField& /*field*/) const { return {}; }
  std::string operator()(const RuleCountField& /*field*/) const { return {}; }
  std::string operator()(const RuleDurationField& /*field*/) const { return {}; }
  std::string operator()(const TemplateField& /*field*/) const { return {}; }
  std::string operator()(const HeadersField& /*field*/) const { return {}; }
  std::string operator()(const PropertiesField& /*field*/) const { return {}; }
};

// The lines of one [[outbox]]. What its preset filled in is a comment: written out, a column that the table may lack
// would be one that it must have when the text is read again.
class OutboxLines {
 public:
  explicit OutboxLines(OutboxRules& rules) : rules_(rules) {
    preset_.table = rules.table;
    preset_.preset = rules.preset;
    if (!rules.preset.empty()) fill_from_preset(preset_);
    if (preset_.optional_columns != rules.optional_columns) preset_ = {};  // one of them is asked for by name
  }

  std::string text(std::string_view section) {
    for (const Option& option : options()) {
      const auto dot = option.key.rfind('.');
      if (option.key.substr(0, dot) != section) continue;
      name_ = option.key.substr(dot + 1);
      std::visit([this](const auto& field) { add(field); }, option.field);
    }
    return std::move(text_);
  }

 private:
  void add(const RuleField& field) {
    const std::string& value = field.place(rules_);
    // An empty id_header means something: none.
    if (!value.empty() || &value == &rules_.id_header) line(toml_string(value), false);
  }
  void add(const RuleCountField& field) {
    if (field.place(rules_) != 0) line(fmt::format("{}", field.place(rules_)), false);
  }
  void add(const RuleDurationField& field) {
    if (field.place(rules_).count() != 0) line(toml_string(print_duration(field.place(rules_))), false);
  }
  void add(const TemplateField& field) {
    const auto& value = field.place(rules_);
    if (value) line(toml_string(*value), value == field.place(preset_));
  }
  void add(const HeadersField& field) {
    Headers filled;
    Headers own;
    for (const auto& header : field.place(rules_)) {
      const auto& of_preset = field.place(preset_);
      const bool same = std::find(of_preset.begin(), of_preset.end(), header) != of_preset.end();
      (same ? filled : own).push_back(header);
    }
    if (!filled.empty()) line(print_headers(filled), true);
    if (!own.empty()) line(print_headers(own), false);
  }
  template <typename Other>
  void add(const Other& /*not of an outbox*/) {}

  void line(const std::string& value, bool by_preset) {
    text_ += fmt::format("{}{} = {}\n", by_preset ? "# " : "", name_, value);
  }

  OutboxRules& rules_;
  OutboxRules preset_;
  std::string_view name_;
  std::string text_;
};

std::string print_outboxes(std::vector<OutboxRules>& outboxes) {
  std::string text;
  for (OutboxRules& rules : outboxes) {
    text += "\n[[outbox]]\n" + OutboxLines(rules).text("outbox.*");
    text += print_retention(rules);
    text += print_cloudevents(rules);
  }
  return text;
}

// The lines of any other section; `but`: without those that are the same there.
std::string section_lines(std::string_view section, Config& config, Config* but = nullptr) {
  std::string lines;
  for (const Option& option : options()) {
    const auto dot = option.key.rfind('.');
    if (option.key.substr(0, dot) != section) continue;
    const std::string value = print_option(option, config);
    if (value.empty() || (but != nullptr && value == print_option(option, *but))) continue;
    lines += fmt::format("{} = {}\n", option.key.substr(dot + 1), value);
  }
  return lines;
}

std::string print_properties(const SinkOptions& sink) {
  std::string text = "\n[sink.kafka]\n";
  for (const auto& [name, value] : sink.kafka) {
    text += fmt::format("{} = {}\n", toml_string(name), toml_string(shown_kafka_value(name, value)));
  }
  return text;
}

}  // namespace

std::string toml_string(std::string_view text) {
  std::string quoted = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\\') {
      quoted += fmt::format("\\{}", c);
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      if (c == '$' && i + 1 < text.size() && text[i + 1] == '{') quoted.push_back('$');
      quoted.push_back(c);
    }
  }
  return quoted + "\"";
}

std::string print_cloudevents(const OutboxRules& rules) {
  if (!rules.cloudevents) return {};
  OutboxRules copy = rules;
  return "[outbox.cloudevents]\n" + OutboxLines(copy).text("outbox.*.cloudevents");
}

std::string print_option(const Option& option, Config& config) { return std::visit(PrintValue{config}, option.field); }

std::string print_retention(const OutboxRules& rules) {
  if (rules.retention == RetentionRules{}) return {};
  OutboxRules copy = rules;
  return "[outbox.retention]\n" + OutboxLines(copy).text("outbox.*.retention");
}

std::string print_changed(std::string_view section, const Config& config) {
  Config copy = config;  // the table's functions give places to write to
  Config defaults;
  const auto lines = section_lines(section, copy, &defaults);
  return lines.empty() ? lines : fmt::format("[{}]\n{}", section, lines);
}

std::string print_config(const Config& config) {
  Config copy = config;  // the table's functions give places to write to
  std::string text = "# The effective configuration. Secrets are masked; what a preset fills in is a comment.\n";
  for (const Section& section : sections()) {
    if (section.name == "outbox.*") {
      text += print_outboxes(copy.outboxes);
    } else if (section.name.starts_with("outbox.*.")) {
      continue;  // printed with its [[outbox]]
    } else if (section.name == "sink.kafka") {
      text += print_properties(copy.sink);
    } else {
      text += fmt::format("\n[{}]\n{}", section.name, section_lines(section.name, copy));
    }
  }
  return text;
}

}  // namespace walrelay
