#include "connector/commands/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "connector/commands/shell_completion.h"
#include "connector/config/option_values.h"
#include "connector/config/options.h"
#include "connector/given_time.h"
#include "connector/observe/version.h"
#include "decoder/nearest_name.h"
#include "decoder/presets.h"
#include "sinks/kafka_options.h"

namespace walrelay {
namespace {

constexpr std::string_view kDescription =
    "walrelay relays rows of an outbox table from PostgreSQL to Kafka. It reads the write-ahead log\n"
    "through a replication slot, and confirms a position only after the broker has the events.";

constexpr std::string_view kExamples = R"(
First steps (-c FILE holds the same settings as these flags, and more):
  walrelay init  --dsn 'host=db dbname=shop' --table public.outbox > walrelay.toml
  walrelay check -c walrelay.toml --brokers broker:9092
  walrelay run   -c walrelay.toml --brokers broker:9092

`walrelay COMMAND --help` explains a command, `walrelay config --reference` every setting and exit code.
)";

constexpr std::string_view kCommonFooter =
    "\nEvery setting can be given by --set; `walrelay config --reference` lists them. ${NAME} and ${file:PATH} in a "
    "value\n"
    "stand for an environment variable and the content of a file.\n";

constexpr const char* kCommonGroup = "Configuration";

struct CommandName {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;
};

constexpr std::array kCommands = std::to_array<CommandName>({
    {"init", "prepare an outbox: table, publication, slot, rights; proposes a configuration",
     R"(
  walrelay init --dsn 'host=db dbname=shop' --table public.outbox > walrelay.toml
  walrelay init -c walrelay.toml --print            shows the SQL and changes nothing
  walrelay init -c walrelay.toml --backfill all     publishes the rows that are there, too
)"},
    {"check", "look at every precondition and say what is missing; exit status 0 or 1",
     R"(
  walrelay check -c walrelay.toml
)"},
    {"run", "relay events until a signal ends it",
     R"(
  walrelay run -c walrelay.toml
  walrelay run -c walrelay.toml --drain                         until nothing is left, then ends
  walrelay run -c walrelay.toml --set log.format=json
)"},
    {"status", "slots, how far they are behind, and who uses them",
     R"(
  walrelay status -c walrelay.toml
)"},
    {"tail", "print events as JSON lines as they happen, confirming nothing",
     R"(
  walrelay tail -c walrelay.toml
  walrelay tail -c walrelay.toml --type OrderPlaced --limit 1   waits for the next of them
  walrelay tail -c walrelay.toml --key 42 --header tenant=acme | jq .value
)"},
    {"replay", "publish rows of the table, or dead letters, again",
     R"(
  walrelay replay -c walrelay.toml --id 354afe16-939a-4ea8-8e17-8bb0840b6886
  walrelay replay -c walrelay.toml --type OrderPlaced --since 2026-11-29 --until '2026-11-29 12:00:00+01'
  walrelay replay -c walrelay.toml --dead-letters
)"},
    {"recover", "make a lost or missing slot anew and publish the rows that it would have brought",
     R"(
  walrelay recover -c walrelay.toml
  walrelay recover -c walrelay.toml --backfill since='2026-11-29 12:00:00'
)"},
    {"drop", "remove slot and publication; a forgotten slot fills the server's disk",
     R"(
  walrelay drop -c walrelay.toml
)"},
    {"config", "print the effective configuration, secrets as ***",
     R"(
  walrelay config -c walrelay.toml
  walrelay config --reference                       explains every setting
)"},
    {"completion", "print what makes a shell complete this command line",
     R"(
  source <(walrelay completion bash)
)"},
});

// The library does not break long descriptions into lines.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kWidth = 72;
  std::string result;
  std::size_t line = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (line > 0) {
      const bool fits = line + 1 + end <= kWidth;
      result.push_back(fits ? ' ' : '\n');
      line = fits ? line + 1 : 0;
    }
    result.append(text.substr(0, end));
    line += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

FlagHelp help_of(const CLI::Option& option) {
  FlagHelp help{{}, option.get_type_name(), in_one_line(option.get_description())};
  for (const auto& name : option.get_snames()) help.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) help.names.push_back("--" + name);
  return help;
}

CommandHelp help_of(const CLI::App& command) {
  CommandHelp help{command.get_name(), command.get_description(), {}, {}};
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) continue;
    const bool common = option->get_group() == kCommonGroup || option == command.get_help_ptr();
    (common ? help.common : help.own).push_back(help_of(*option));
  }
  return help;
}

class Parser {
 public:
  Parser() : app_(std::string(kDescription), "walrelay") {
    app_.set_help_flag("-h,--help", "print this and exit");
    app_.add_flag("--version", version_, "print the version and exit");
    app_.require_subcommand(0, 1);
    app_.allow_extras();
    app_.footer(std::string(kExamples));
    app_.get_formatter()->label("SUBCOMMAND", "COMMAND");
    add_common(app_, "");  // also accepted before the command, but explained with it
    for (const auto& [name, summary, examples] : kCommands) {
      CLI::App& command = *app_.add_subcommand(std::string(name), std::string(summary));
      command.group("Commands");
      command.footer(fmt::format("\nExamples:{}{}", examples, name == "completion" ? "" : kCommonFooter));
      add_own(command, name);
      if (name != "completion") add_common(command, kCommonGroup);
    }
  }

  [[nodiscard]] std::vector<CommandHelp> helps() const {
    std::vector<CommandHelp> all;
    for (const CLI::App* command : app_.get_subcommands({})) all.push_back(help_of(*command));
    return all;
  }

  CommandLine parse(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
      return {"help", Answer{app_.help()}, {}, {}};
    } catch (const CLI::ParseError& error) {
      const std::string_view message = error.what();
      throw ConfigError(fmt::format("{}; see {} --help", message.substr(0, message.find('\n')), path()));
    }
    if (version_) return {"version", Answer{version_text() + "\n"}, {}, {}};
    refuse_leftovers();
    if (app_.get_subcommands().empty()) throw ConfigError("no command given; `walrelay --help` lists them");
    return result(app_.get_subcommands().front()->get_name());
  }

 private:
  void add_own(CLI::App& command, std::string_view name) {
    if (name == "init") {
      command.add_flag("--print", init_.print, "print the SQL, change nothing");
      command.add_flag(
          "--column-list", init_.column_list,
          wrapped("publish only the columns that are used (PostgreSQL 15+); dropping one with CASCADE then takes "
                  "the table out of the publication"));
      command.add_flag("--failover", init_.failover,
                       wrapped("let standbys keep a copy of the slot, so that it is there after a failover (PostgreSQL "
                               "17+); also for a slot that exists"));
      command.add_option("--role", init_.role, "grant what a relay needs to this role")->type_name("NAME");
      add_backfill(command, init_.backfill,
                   "publish rows that are there before the slot begins: unprocessed, all, since=TIME or none");
    }
    if (name == "check") command.add_flag("--json", check_.json, "print the findings as JSON");
    if (name == "run") {
      command.add_flag("--drain", run_.drain,
                       wrapped("end with status 0 once all that was committed before the start is "
                               "confirmed"));
      command
          .add_option("--skip", run_.skip,
                      wrapped("pass over this event, named by its id or as the message says that the relay halted "
                              "with; may be repeated, does no harm once the event is passed"))
          ->type_name("ID")
          ->allow_extra_args(false)
          ->check(CLI::Validator([](const std::string& id) { return id.empty() ? "is empty" : ""; }, ""));
    }
    if (name == "status") {
      command.add_flag("--json", status_.json, "print JSON");
      command
          .add_option("--url", status_.url,
                      wrapped("ask a running instance at this address, http://HOST:PORT, instead of the server"))
          ->type_name("URL");
    }
    if (name == "tail") add_tail(command);
    if (name == "replay") add_replay(command);
    if (name == "recover") {
      add_backfill(command, recover_.backfill,
                   "which rows to publish: unprocessed, all, since=TIME, or none, which accepts the gap; default: "
                   "unprocessed where processed_at is configured for every table, else all");
      command.add_flag("--yes", recover_.yes, "do not ask");
    }
    if (name == "drop") command.add_flag("--yes", drop_.yes, "do not ask");
    if (name == "config") {
      command.add_flag("--reference", config_.reference, "print the description of every setting");
      command.add_flag("--man", config_.man, "print the manual page");
    }
    if (name == "completion") {
      command.add_option("SHELL", shell_, fmt::format("{}", fmt::join(completion_shells(), ", ")))
          ->type_name("")
          ->required()
          ->check(CLI::IsMember(std::vector<std::string>(completion_shells().begin(), completion_shells().end())));
    }
  }

  void add_tail(CLI::App& command) {
    command.add_option("--topic", tail_.topic, "only events for this topic")->type_name("TOPIC");
    command.add_option("--id", tail_.id, "only the event with this id")->type_name("ID");
    command.add_option("--key", tail_.key, "only events with this record key")->type_name("KEY");
    command.add_option("--type", tail_.type, "only events whose header \"type\" has this value")->type_name("TYPE");
    add_pairs(command, command.get_help_ptr()->get_group(), "--header", "NAME=VALUE",
              "only events with this header; may be repeated: all of them have to be there", "", headers_);
    const auto limit = [this](const std::string& text) {
      tail_.limit = parse_count(text);
      if (!tail_.limit || *tail_.limit == 0) {
        throw ConfigError(fmt::format("--limit: \"{}\" is no number of events; write 1 or more", text));
      }
    };
    command.add_option_function<std::string>("--limit", limit, "end with status 0 after so many events")
        ->type_name("N");
  }

  void add_replay(CLI::App& command) {
    const auto time_into = [](std::optional<std::int64_t>& target, const char* flag) {
      return [&target, flag](const std::string& text) {
        target = parse_given_time(text);
        if (target) return;
        throw ConfigError(
            fmt::format("{}: \"{}\" is no time; it is UTC, or with an offset: 2026-11-29 12:00+01", flag, text));
      };
    };
    auto& filter = replay_.filter;
    command.add_option("--id", filter.ids, "only the event with this id; may be repeated")
        ->type_name("ID")
        ->allow_extra_args(false);
    command.add_option("--type", filter.type, "only events of this type")->type_name("TYPE");
    command
        .add_option_function<std::string>("--since", time_into(filter.since_ms, "--since"),
                                          "only events of this time on: UTC, or with an offset")
        ->type_name("TIME");
    command
        .add_option_function<std::string>("--until", time_into(filter.before_ms, "--until"),
                                          "only events before this time")
        ->type_name("TIME");
    command.add_flag("--dead-letters", replay_.dead_letters,
                     wrapped("instead of rows of the tables, publish the records of the dead-letter topic, each to the "
                             "topic that its event was meant for; they stay in the dead-letter topic as well"));
    command.add_flag("--yes", replay_.yes, "do not ask, even if all is to be published");
  }

  static void add_backfill(CLI::App& command, std::optional<BackfillChoice>& choice, std::string_view summary) {
    const auto take = [&choice](const std::string& text) {
      choice = parse_backfill_choice(text);
      if (!choice) {
        throw ConfigError(
            fmt::format("--backfill: \"{}\" is none of {}; TIME is UTC, or with an offset: since=2026-11-29 "
                        "12:00+01",
                        text, kBackfillForms));
      }
    };
    command.add_option_function<std::string>("--backfill", take, wrapped(summary))->type_name("ROWS");
  }

  void add_common(CLI::App& app, const std::string& group) {
    app.add_option("-c,--config", file_, "TOML file to read")->type_name("FILE")->group(group)->take_last();
    for (const Option& option : options()) {
      if (!option.flag.empty()) add_shortcut(app, option, group);
      if (option.flag == "--sink")
        add_value(app, group, "--brokers", "sink.kafka.bootstrap.servers", "Kafka brokers, HOST:PORT,...");
    }
    add_pairs(app, group, "-X", "PROPERTY=VALUE", "a property of librdkafka; may be repeated", "sink.kafka.",
              properties_);
    add_pairs(app, group, "--set", "KEY=VALUE",
              "any setting, e.g. delivery.max_in_flight=10 or outbox.0.topic=orders; may be repeated", "", sets_);
  }

  void add_shortcut(CLI::App& app, const Option& option, const std::string& group) {
    std::string key(option.key);
    if (const auto star = key.find('*'); star != std::string::npos) key.replace(star, 1, "0");
    std::string summary(option.summary);
    if (const auto* choice = std::get_if<ChoiceField>(&option.field)) {
      summary += fmt::format(": {}", fmt::join(choice->names, ", "));
    }
    if (option.flag == "--preset") {
      for (const Preset& preset : presets())
        summary += fmt::format("{}{}", &preset == presets().data() ? ": " : ", ", preset.name);
    }
    add_value(app, group, option.flag, key, summary);
  }

  void add_value(CLI::App& app, const std::string& group, std::string_view flag, const std::string& key,
                 std::string_view summary) {
    const std::string name(flag);
    const auto take = [this, name, key](const std::string& value) { flags_.push_back({key, value, name}); };
    app.add_option_function<std::string>(name, take, wrapped(summary))->type_name("TEXT")->group(group)->take_last();
  }

  static void add_pairs(CLI::App& app, const std::string& group, const std::string& flag, const std::string& form,
                        std::string_view summary, const std::string& prefix, std::vector<Setting>& settings) {
    const auto take = [flag, form, prefix, &settings](const std::vector<std::string>& pairs) {
      for (const std::string& pair : pairs) {
        const auto equals = pair.find('=');
        if (equals == std::string::npos || equals == 0)
          throw ConfigError(fmt::format("{}: write {} {}", flag, flag, form));
        settings.push_back({prefix + pair.substr(0, equals), pair.substr(equals + 1), flag});
      }
    };
    app.add_option_function<std::vector<std::string>>(flag, take, wrapped(summary))
        ->type_name(form)
        ->group(group)
        ->allow_extra_args(false);
  }

  [[nodiscard]] std::string path() const {
    const auto commands = app_.get_subcommands();
    return commands.empty() ? "walrelay" : fmt::format("walrelay {}", commands.front()->get_name());
  }

  // What CLI11 did not take. Only a mistyped flag or command is repeated: anything else may be a piece of a password.
  void refuse_leftovers() const {
    const std::vector<std::string> left = app_.remaining(true);
    if (left.empty()) return;
    const std::string word = left.front().substr(0, left.front().find('='));
    const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
    if (word.size() > 30 || !std::all_of(word.begin(), word.end(), plain)) {
      throw ConfigError(
          fmt::format("there is an argument that belongs to no flag; put values with blanks in quotes, and see "
                      "{} --help",
                      path()));
    }
    const bool flag = word.starts_with("-");
    const std::vector<std::string> known = flag ? flag_names() : command_names();
    const std::vector<std::string_view> names(known.begin(), known.end());
    const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
    const std::string_view near = nearest_name(std::string_view(word).substr(dashes), names);
    const std::string hint =
        near.empty() ? fmt::format("see {} --help", path()) : fmt::format("did you mean {}{}?", flag ? "--" : "", near);
    throw ConfigError(fmt::format("there is no {} {}; {}", flag ? "flag" : "command", word, hint));
  }

  [[nodiscard]] std::vector<std::string> flag_names() const {
    const auto commands = app_.get_subcommands();
    const CLI::App* app = commands.empty() ? &app_ : commands.front();
    std::vector<std::string> names;
    for (const CLI::Option* option : app->get_options()) {
      const auto& long_names = option->get_lnames();
      names.insert(names.end(), long_names.begin(), long_names.end());
    }
    return names;
  }

  static std::vector<std::string> command_names() {
    std::vector<std::string> names;
    for (const auto& command : kCommands) names.emplace_back(command.name);
    return names;
  }

  CommandLine result(const std::string& name) {
    CommandLine line{name, ConfigFlags{config_}, file_, std::move(flags_)};
    line.settings.insert(line.settings.end(), properties_.begin(), properties_.end());
    line.settings.insert(line.settings.end(), sets_.begin(), sets_.end());
    for (const Setting& setting : line.settings) {
      if (setting.origin == "--preset") init_.preset = std::get<std::string>(setting.value);
    }
    if (name == "init") {
      if (init_.backfill && init_.backfill->rows == BackfillChoice::Rows::none) init_.backfill.reset();
      line.command = init_;
    }
    if (name == "check") line.command = check_;
    if (name == "run") line.command = run_;
    if (name == "status") line.command = status_;
    if (name == "tail") {
      for (const Setting& header : headers_)
        tail_.headers.emplace_back(header.key, std::get<std::string>(header.value));
      line.command = tail_;
    }
    if (name == "replay") line.command = replay_;
    if (name == "recover") line.command = recover_;
    if (name == "drop") line.command = drop_;
    if (name == "completion") line.command = Answer{shell_completion(shell_, helps())};
    return line;
  }

  CLI::App app_;
  bool version_ = false;
  std::string file_;
  std::string shell_;
  std::vector<Setting> flags_, properties_, sets_, headers_;
  InitFlags init_;
  CheckFlags check_;
  RunFlags run_;
  StatusFlags status_;
  TailFlags tail_;
  ReplayFlags replay_;
  RecoverFlags recover_;
  DropFlags drop_;
  ConfigFlags config_;
};

// What is no setting at all may be a misspelt secret.
bool is_secret(const std::string& key) {
  const KeyMatch match = find_option(key);
  if (match.option == nullptr) return true;
  if (const auto* text = std::get_if<TextField>(&match.option->field)) return text->secret;
  return std::holds_alternative<PropertiesField>(match.option->field) && is_secret_kafka_property(match.rest);
}

// From where on an argument is to be hidden, npos: not at all. `flag` is what came before it.
std::size_t secret_start(std::string_view flag, std::string_view argument) {
  if (flag == "--dsn") return 0;
  if (argument.starts_with("--dsn=")) return argument.find('=') + 1;
  const bool property = flag == "-X" || argument.starts_with("-X");
  const std::size_t key = argument.starts_with("--set=") ? 6 : argument.starts_with("-X") ? 2 : 0;
  if (!property && flag != "--set" && !argument.starts_with("--set=")) return std::string_view::npos;
  const auto equals = argument.find('=', key);
  if (equals == std::string_view::npos) return equals;
  const auto name = std::string(argument.substr(key, equals - key));
  return is_secret(property ? "sink.kafka." + name : name) ? equals + 1 : std::string_view::npos;
}

}  // namespace

std::vector<CommandHelp> command_helps() { return Parser().helps(); }

CommandLine parse_command_line(const std::vector<std::string>& arguments) { return Parser().parse(arguments); }

void hide_secrets(std::span<char*> arguments) {
  std::string flag;
  for (char* argument : arguments) {
    const std::string text(argument);
    for (std::size_t i = secret_start(flag, text); i < text.size(); ++i) argument[i] = '*';
    flag = text;
  }
}

}  // namespace walrelay
