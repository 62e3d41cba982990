// `walrelay check`.

#include "connector/commands/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "connector/commands/command_support.h"
#include "connector/commands/commands.h"
#include "sinks/json_writer.h"

namespace walrelay {
namespace {

constexpr std::string_view name_of(FindingLevel level) {
  switch (level) {
    case FindingLevel::ok:
      return "ok";
    case FindingLevel::warning:
      return "warning";
    case FindingLevel::error:
      return "error";
  }
  return "";
}

std::string as_text(const Findings& findings) {
  std::string out;
  for (const auto& finding : findings.list()) {
    out += fmt::format("{:<7} {}: {}\n", name_of(finding.level), finding.check, finding.message);
    if (!finding.remedy.empty()) out += fmt::format("        remedy: {}\n", finding.remedy);
  }
  return out;
}

std::string as_json(const Findings& findings) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("ok").boolean(!findings.failed()).key("findings").begin_array();
  for (const auto& finding : findings.list()) {
    json.begin_object().key("check").string(finding.check).key("level").string(name_of(finding.level));
    json.key("message").string(finding.message).key("remedy").string(finding.remedy).end_object();
  }
  json.end_array().end_object();
  return out + "\n";
}

}  // namespace

bool Findings::failed() const {
  return std::any_of(list_.begin(), list_.end(), [](const Finding& f) { return f.level == FindingLevel::error; });
}

ExitCode check_command(const Config& config, const CheckFlags& flags) {
  return guarded("check", [&] {
    // Side by side, so that several servers that do not answer take no longer than one.
    auto replication = std::async(std::launch::async, check_replication, std::cref(config));
    auto sink = std::async(std::launch::async, check_sink, std::cref(config));
    auto findings = check_database(config);
    findings.append(replication.get());
    findings.append(sink.get());
    const bool has_progress = config.sink.type == SinkType::kafka && !config.delivery.progress_topic.empty();
    if (has_progress && !findings.failed()) findings.append(check_progress(config));
    print_out(flags.json ? as_json(findings) : as_text(findings));
    return findings.failed() ? ExitCode::check_failed : ExitCode::done;
  });
}

}  // namespace walrelay
