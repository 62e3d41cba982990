#include "connector/config/config_reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "connector/config/config_print.h"
#include "connector/config/option_values.h"
#include "connector/config/options.h"
#include "connector/exit_code.h"
#include "decoder/failure_class.h"
#include "decoder/presets.h"
#include "sinks/kafka_options.h"

namespace walrelay {
namespace {

constexpr std::string_view kIntroduction = R"(# Configuration

<!-- Written by `walrelay config --reference`; a test fails when it is stale. Change connector/config/options.cpp instead. -->

`walrelay COMMAND -c FILE` reads a TOML file. Without `-c` no file is read, not even one in the current directory, and flags
alone are enough for the common case:

```sh
walrelay run --dsn 'host=db dbname=shop user=walrelay' --table public.outbox --preset debezium --brokers broker:9092
```

Later wins: defaults, then the file, then flags, in the order `--dsn` and its like, `-X`, `--set`. Without any
`postgres.dsn` libpq's own sources are used: `PGHOST`, `PGDATABASE`, `PGUSER`, `PGPASSFILE`, `~/.pgpass`, service files.

- `--set KEY=VALUE` sets any key below by its full name: `--set delivery.max_in_flight=10`. An outbox is addressed by its
  place, from 0: `--set 'outbox.0.topic=orders.{type}'`, `--set 'outbox.0.headers.source=shop'`. The number after the last
  one adds an outbox.
- `-X PROPERTY=VALUE` sets a librdkafka property: `-X compression.codec=zstd`. `--brokers` is `-X bootstrap.servers=`.
- `--table` and `--preset` are for use without `[[outbox]]` in a file; with one they are refused.
- An unknown key is an error, and so is a key of a later version. Every error is one line that names the key, where it
  stands, the reason and the remedy.
- `walrelay config` prints what is in effect, with secrets as `***`.

## Values

- **Secrets and environment.** In any string, also in flags, `${NAME}` is the environment variable NAME and
  `${file:/run/secrets/x}` the content of a file without its last line break. `$${` is a literal `${`. A secret in
  `--dsn`, `--set` or `-X` is hidden from the process list as soon as the program has started; `${file:...}` or `~/.pgpass` never show it.
  In `postgres.dsn` and `query_dsn` such a file is read again at each connect.
- **Durations** have a unit: `500ms`, `60s`, `5m`, `12h`, `7d`. **Sizes**: `64MiB` (KiB, MiB, GiB are powers of 1024; kB, MB,
  GB of 1000); a number alone is bytes.
- **Templates**: `{column}` is the column's text, `{column/a/b}` a JSON pointer into it, `{column|kebab}` filtered by
  `lower`, `upper`, `snake` or `kebab`; `{{` and `}}` stand for braces. A template that is one reference and is NULL gives
  NULL: no key, a tombstone, no header. In a longer template NULL is empty text.

)";

constexpr std::array kExitMeanings = std::to_array<ExitMeaning>({
    {ExitCode::done, "done"},
    {ExitCode::check_failed, "`check` found something; any other command could not do what was asked"},
    {ExitCode::usage, "command line or configuration, also a mapping that does not fit its table"},
    {ExitCode::cannot_start,
     "cannot start, and waiting would not help: authentication, rights, database, publication, wal_level, kind of "
     "slot"},
    {ExitCode::poison, "halted on an event that can never be delivered (`delivery.on_error`)"},
    {ExitCode::slot_lost,
     "a gap: slot missing, lost because the server removed WAL that it needed, or not where the progress record has "
     "it: "
     "`walrelay recover`"},
    {ExitCode::interrupted,
     "ended by SIGINT; if not all was acknowledged within `delivery.drain_timeout`, the log has `drain_timeout`"},
    {ExitCode::terminated, "ended by SIGTERM, in the same way"},
});

struct DescribeType {
  std::string operator()(const TextField& field) const { return std::string(field.form); }
  std::string operator()(const CountField& field) const {
    return fmt::format("whole number, {} to {}", field.min, field.max);
  }
  std::string operator()(const SizeField& field) const {
    return fmt::format("size, {} to {}", print_size(field.min), print_size(field.max));
  }
  std::string operator()(const DurationField& field) const {
    return fmt::format("duration, {} to {}", print_duration(field.min), print_duration(field.max));
  }
  std::string operator()(const ChoiceField& field) const { return fmt::format("`{}`", fmt::join(field.names, "`, `")); }
  std::string operator()(const ConstantField& field) const {
    return fmt::format("{} only, in this version", toml_string(field.only));
  }
  std::string operator()(const RuleField& field) const { return std::string(field.form); }
  std::string operator()(const RuleCountField& field) const {
    return fmt::format("whole number, {} to {}", field.min, field.max);
  }
  std::string operator()(const RuleDurationField& field) const {
    return fmt::format("duration, {} to {}", print_duration(field.min), print_duration(field.max));
  }
  std::string operator()(const TemplateField& /*field*/) const { return "template"; }
  std::string operator()(const HeadersField& /*field*/) const { return "table of templates"; }
  std::string operator()(const PolicyField& /*field*/) const {
    return fmt::format("`{}`, or a table by class", fmt::join(kOnErrorNames, "`, `"));
  }
  std::string operator()(const PropertiesField& /*field*/) const { return "text, number, true or false"; }
};

std::string option_row(const Option& option, std::string_view name) {
  const std::string flag = option.flag.empty() ? std::string() : fmt::format("`{}`", option.flag);
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", name, option_type(option), option_default(option), flag,
                     option.summary);
}

std::string section_text(const Section& section) {
  std::string rows;
  for (const Option& option : options()) {
    const auto dot = option.key.rfind('.');
    if (option.key == section.name) rows += option_row(option, "\"PROPERTY\"");
    if (option.key.substr(0, dot) == section.name && option.key != "sink.kafka") {
      rows += option_row(option, option.key.substr(dot + 1));
    }
  }
  std::string title = section.name == "outbox.*" ? "[[outbox]]" : fmt::format("[{}]", section.name);
  if (const auto star = title.find(".*"); star != std::string::npos) title.erase(star, 2);
  return fmt::format("## {}\n\n{}\n\n| key | type | default | flag | meaning |\n| --- | --- | --- | --- | --- |\n{}\n",
                     title, section.summary, rows);
}

std::string kafka_properties() {
  std::string text = "Defaults that differ from librdkafka's:\n\n| property | default |\n| --- | --- |\n";
  for (const auto& [name, value] : kafka_defaults()) text += fmt::format("| `{}` | `{}` |\n", name, value);
  text += "\nProperties that are refused, besides callbacks:\n\n| property | why |\n| --- | --- |\n";
  for (const auto& [name, reason] : kafka_refusals()) text += fmt::format("| `{}` | {} |\n", name, reason);
  return text + '\n';
}

std::string remark(std::string_view section) {
  if (section == "outbox.*") {
    std::vector<std::string_view> names;
    for (const Preset& preset : presets()) names.push_back(preset.name);
    return fmt::format(
        "Presets: `{}` (docs/presets.md). Without one, `topic` and `value` must be given. Headers that are\n"
        "configured replace the preset's of the same name.\n\n",
        fmt::join(names, "`, `"));
  }
  if (section == "delivery") {
    return fmt::format(
        "Classes of failure for `on_error`: `{}`. As a table:\n"
        "`on_error = {{ default = \"halt\", too-large = \"dead-letter\" }}`.\n\n",
        fmt::join(kFailureClassNames, "`, `"));
  }
  if (section == "sink.kafka") {
    return kafka_properties();
  }
  return {};
}

std::string exit_codes() {
  std::string text = "## Exit codes\n\n| status | meaning |\n| --- | --- |\n";
  for (const auto& [code, meaning] : kExitMeanings)
    text += fmt::format("| {} | {} |\n", static_cast<int>(code), meaning);
  return text;
}

}  // namespace

std::string option_type(const Option& option) { return std::visit(DescribeType{}, option.field); }

std::string option_default(const Option& option) {
  Config defaults;
  OutboxRules rules;
  if (const auto* rule = std::get_if<RuleField>(&option.field)) {
    return rule->place(rules).empty() ? std::string() : fmt::format("`{}`", toml_string(rule->place(rules)));
  }
  if (const auto* count = std::get_if<RuleCountField>(&option.field)) {
    const auto value = count->place(rules);
    return value == 0 ? std::string() : fmt::format("`{}`", value);
  }
  if (const auto* duration = std::get_if<RuleDurationField>(&option.field)) {
    const auto value = duration->place(rules);
    return value.count() == 0 ? std::string() : fmt::format("`{}`", toml_string(print_duration(value)));
  }
  if (const auto* text = std::get_if<TemplateField>(&option.field)) return std::string(text->without);
  if (const auto* headers = std::get_if<HeadersField>(&option.field)) return std::string(headers->without);
  const std::string value = print_option(option, defaults);
  return value.empty() ? value : fmt::format("`{}`", value);
}

std::span<const ExitMeaning> exit_meanings() { return kExitMeanings; }

std::string config_reference() {
  std::string text(kIntroduction);
  for (const Section& section : sections()) text += section_text(section) + remark(section.name);
  return text + exit_codes();
}

}  // namespace walrelay
