// Arguments into a command and settings; what is wrong with them in one line.

#include "connector/commands/command_line.h"
#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    static_cast<void>(parse_command_line(arguments));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

template <typename Flags>
Flags flags_of(const std::vector<std::string>& arguments) {
  return std::get<Flags>(parse_command_line(arguments).command);
}

}  // namespace

TEST_CASE("each command has its flags") {
  CHECK(flags_of<InitFlags>({"init", "--print", "--column-list", "--role", "relay"}).print);
  CHECK(flags_of<InitFlags>({"init", "--column-list"}).column_list);
  CHECK(flags_of<InitFlags>({"init", "--role", "relay"}).role == "relay");
  CHECK(flags_of<InitFlags>({"init", "--table", "a.b", "--preset", "debezium"}).preset == "debezium");
  CHECK(flags_of<CheckFlags>({"check", "--json"}).json);
  CHECK(flags_of<RunFlags>({"run", "--drain"}).drain);
  CHECK_FALSE(flags_of<RunFlags>({"run"}).drain);
  CHECK(flags_of<RunFlags>({"run", "--skip", "a", "--drain", "--skip=16/B374D848/3"}).skip ==
        std::vector<std::string>{"a", "16/B374D848/3"});
  CHECK_THAT(refusal({"run", "--skip", ""}), ContainsSubstring("--skip"));
  CHECK(flags_of<StatusFlags>({"status", "--json"}).json);
  CHECK(flags_of<DropFlags>({"drop", "--yes"}).yes);
  CHECK(flags_of<ConfigFlags>({"config", "--reference"}).reference);
  CHECK_NOTHROW(flags_of<TailFlags>({"tail"}));
  CHECK(flags_of<RecoverFlags>({"recover", "--yes"}).yes);
  CHECK_FALSE(flags_of<RecoverFlags>({"recover"}).backfill);
  CHECK(flags_of<RecoverFlags>({"recover", "--backfill", "none"}).backfill->rows == BackfillChoice::Rows::none);
}

TEST_CASE("tail takes filters and a limit") {
  const auto flags = flags_of<TailFlags>({"tail", "--topic", "t", "--id", "i", "--key", "k", "--type", "T", "--header",
                                          "tenant=acme", "--header", "note=a=b", "--limit", "3"});
  CHECK(flags.topic == "t");
  CHECK(flags.id == "i");
  CHECK(flags.key == "k");
  CHECK(flags.type == "T");
  CHECK(flags.headers == std::vector<std::pair<std::string, std::string>>{{"tenant", "acme"}, {"note", "a=b"}});
  CHECK(flags.limit == 3);
  CHECK_FALSE(flags_of<TailFlags>({"tail"}).limit);
  for (const auto* number : {"0", "many", ""}) {
    CHECK_THAT(refusal({"tail", "--limit", number}), ContainsSubstring("is no number of events"));
  }
  CHECK_THAT(refusal({"tail", "--header", "tenant"}), ContainsSubstring("--header: write --header NAME=VALUE"));
}

TEST_CASE("init takes the rows to publish, and none are as good as no flag") {
  CHECK(flags_of<InitFlags>({"init", "--backfill", "all"}).backfill->rows == BackfillChoice::Rows::all);
  CHECK(flags_of<InitFlags>({"init", "--backfill=since=2024-02-29"}).backfill->since_ms == 1'709'164'800'000);
  CHECK_FALSE(flags_of<InitFlags>({"init", "--backfill", "none"}).backfill);
  CHECK_THAT(refusal({"init", "--backfill", "yesterday"}), ContainsSubstring("unprocessed, all, since=TIME or none"));
}

TEST_CASE("replay takes ids one by one, a type and times") {
  const auto flags = flags_of<ReplayFlags>({"replay", "--id", "a", "--id", "b", "--type", "T", "--since", "2024-02-29",
                                            "--until", "2024-03-01T00:00:00Z", "--dead-letters"});
  CHECK(flags.filter.ids == std::vector<std::string>{"a", "b"});
  CHECK(flags.filter.type == "T");
  CHECK(flags.filter.since_ms == 1'709'164'800'000);
  CHECK(flags.filter.before_ms == 1'709'251'200'000);
  CHECK(flags.dead_letters);
  CHECK_FALSE(flags.yes);
  CHECK_THAT(refusal({"replay", "--since", "soon"}), ContainsSubstring("--since: \"soon\" is no time"));
}

TEST_CASE("common flags become settings, whichever side of the command they stand on") {
  const std::vector<std::string> flags = {"-c",          "f.toml", "--dsn",     "host=db", "--table",       "a.b",
                                          "--preset",    "pascal", "--slot",    "s",       "--publication", "P",
                                          "--sink",      "stdout", "--brokers", "b:1",     "--log-format",  "json",
                                          "--log-level", "debug"};
  std::vector<std::string> after = {"run"};
  after.insert(after.end(), flags.begin(), flags.end());
  std::vector<std::string> before = flags;
  before.emplace_back("run");
  for (const auto& arguments : {after, before}) {
    const CommandLine line = parse_command_line(arguments);
    CHECK(line.name == "run");
    CHECK(line.config_file == "f.toml");
    const auto has = [&](const std::string& key, const std::string& value, const std::string& origin) {
      return std::any_of(line.settings.begin(), line.settings.end(), [&](const Setting& s) {
        return s.key == key && s.value == SettingValue(value) && s.origin == origin;
      });
    };
    CHECK(line.settings.size() == 9);
    CHECK(has("postgres.dsn", "host=db", "--dsn"));
    CHECK(has("outbox.0.table", "a.b", "--table"));
    CHECK(has("outbox.0.preset", "pascal", "--preset"));
    CHECK(has("postgres.slot", "s", "--slot"));
    CHECK(has("postgres.publication", "P", "--publication"));
    CHECK(has("sink.type", "stdout", "--sink"));
    CHECK(has("sink.kafka.bootstrap.servers", "b:1", "--brokers"));
    CHECK(has("log.format", "json", "--log-format"));
    CHECK(has("log.level", "debug", "--log-level"));
  }
}

TEST_CASE("the flags -X and --set repeat, keep their order, and come after the other flags") {
  const CommandLine line =
      parse_command_line({"run", "--set", "a=1", "-X", "p=x=y", "--set=b=[2]", "-Xq=", "--slot", "s"});
  REQUIRE(line.settings.size() == 5);
  CHECK(line.settings[0].key == "postgres.slot");
  CHECK(line.settings[1].key == "sink.kafka.p");
  CHECK(line.settings[1].value == SettingValue("x=y"));
  CHECK(line.settings[2].key == "sink.kafka.q");
  CHECK(line.settings[2].value == SettingValue(""));
  CHECK(line.settings[3].key == "a");
  CHECK(line.settings[4].key == "b");
  CHECK(line.settings[4].value == SettingValue("[2]"));
}

TEST_CASE("a flag given twice counts once, the later one") {
  const CommandLine line = parse_command_line({"run", "--slot", "a", "--slot", "b"});
  REQUIRE(line.settings.size() == 1);
  CHECK(line.settings[0].value == SettingValue("b"));
}

TEST_CASE("mistakes get one line with the remedy") {
  CHECK_THAT(refusal({}), ContainsSubstring("walrelay --help"));
  CHECK_THAT(refusal({"--slot", "x"}), ContainsSubstring("no command given"));
  CHECK_THAT(refusal({"rnu"}), ContainsSubstring("there is no command rnu; did you mean run?"));
  CHECK_THAT(refusal({"run", "--slto", "x"}), ContainsSubstring("there is no flag --slto; did you mean --slot?"));
  CHECK_THAT(refusal({"run", "--json"}), ContainsSubstring("there is no flag --json; see walrelay run --help"));
  CHECK_THAT(refusal({"run", "check"}),
             ContainsSubstring("there is no command check") || ContainsSubstring("run --help"));
  CHECK_THAT(refusal({"run", "--slot"}), ContainsSubstring("--slot"));
  CHECK_THAT(refusal({"run", "--set", "a"}), ContainsSubstring("--set: write --set KEY=VALUE"));
  CHECK_THAT(refusal({"run", "-X", "=a"}), ContainsSubstring("-X: write -X PROPERTY=VALUE"));
}

TEST_CASE("an argument that may be a piece of a password is not repeated") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"run", "--dns=host=db password=hunter2"},
                                                    {"run", "password=hunter2"},
                                                    {"run", "host=db", "hunter2"},
                                                    {"run", "--dsn", "host=db", "password=hunter2"},
                                                    {"run", "--set", "hunter2"},
                                                    {"postgresql://u:hunter2@db"},
                                                    {"run", "--hunter2"}}) {
    const std::string line = refusal(arguments);
    CAPTURE(line);
    CHECK(line != "accepted");
    CHECK(line.find("hunter2") == std::string::npos);
  }
}

}  // namespace walrelay::test
