// The part of `check` that looks at where events go.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "connector/commands/check.h"
#include "connector/commands/command_support.h"
#include "decoder/rule_error.h"
#include "decoder/template.h"
#include "sinks/kafka_admin.h"
#include "sinks/kafka_options.h"
#include "sinks/sink_error.h"

namespace walrelay {
namespace {

constexpr std::chrono::milliseconds kInspectTimeout{8'000};

struct Topics {
  std::vector<std::string> known;      // named in the configuration
  std::vector<std::string> templates;  // the rest is known only with the rows
};

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

Topics topics_of(const Config& config) {
  Topics topics;
  for (const auto& rules : config.outboxes) {
    if (!rules.topic) continue;
    const bool fixed = Template::compile("topic", *rules.topic).references().empty();
    add_once(fixed ? topics.known : topics.templates, *rules.topic);
  }
  const auto& delivery = config.delivery;
  const bool dead_letters = delivery.on_error == OnError::dead_letter ||
                            std::any_of(delivery.on_error_by_class.begin(), delivery.on_error_by_class.end(),
                                        [](const auto& entry) { return entry.second == OnError::dead_letter; });
  if (dead_letters) add_once(topics.known, delivery.dead_letter_topic);
  return topics;
}

std::string creation_remedy(const std::string& topic) {
  return fmt::format("kafka-topics.sh --bootstrap-server ... --create --topic {}", topic);
}

void check_topic(Findings& findings, const KafkaReport& report, const KafkaTopicReport& topic) {
  if (!topic.problem.empty()) {
    findings.error("sink.topic", topic.problem, "");
  } else if (topic.exists) {
    findings.ok("sink.topic", fmt::format("topic \"{}\" exists, {} partitions", topic.name, topic.partitions));
  } else if (!report.auto_create_topics) {
    findings.warning(
        "sink.topic",
        fmt::format("topic \"{}\" does not exist, and whether the brokers make it cannot be seen", topic.name),
        creation_remedy(topic.name));
  } else if (*report.auto_create_topics) {
    findings.ok("sink.topic", fmt::format("topic \"{}\" does not exist yet; the brokers make it", topic.name));
  } else {
    findings.error("sink.topic",
                   fmt::format("topic \"{}\" does not exist, and the brokers do not make topics", topic.name),
                   creation_remedy(topic.name));
  }
}

void check_progress_topic(Findings& findings, const KafkaTopicReport& topic) {
  if (!topic.problem.empty()) {
    findings.error("sink.progress", topic.problem, "or do without the record by delivery.progress_topic = \"\"");
  } else if (!topic.exists) {
    findings.ok("sink.progress",
                fmt::format("topic \"{}\" of the progress record does not exist yet; `run` makes it", topic.name));
  } else if (topic.cleanup_policy && topic.cleanup_policy->find("compact") == std::string::npos) {
    findings.warning("sink.progress",
                     fmt::format("topic \"{}\" of the progress record is not compacted (cleanup.policy={}): the record "
                                 "may be deleted, and then gaps are not seen",
                                 topic.name, *topic.cleanup_policy),
                     fmt::format("kafka-configs.sh --bootstrap-server ... --alter --topic {} --add-config "
                                 "cleanup.policy=compact",
                                 topic.name));
  } else {
    findings.ok("sink.progress", fmt::format("topic \"{}\" of the progress record exists", topic.name));
  }
}

void check_kafka(Findings& findings, const Config& config) {
  for (auto& line : kafka_warnings(config.sink.kafka)) findings.warning("sink.kafka", std::move(line), "");
  auto topics = topics_of(config);
  const bool has_progress = !config.delivery.progress_topic.empty();
  if (has_progress) topics.known.push_back(config.delivery.progress_topic);
  const auto report = inspect_kafka(config.sink.kafka, topics.known, kInspectTimeout);
  if (!report.unreachable.empty()) {
    findings.error(
        "sink.broker", report.unreachable,
        report.remedy.empty() ? "see that the brokers run and that \"bootstrap.servers\" is right" : report.remedy);
    return;
  }
  findings.ok("sink.broker", fmt::format("brokers answer: {}", join(report.brokers, ", ")));
  for (const auto& topic : report.topics) {
    const bool is_progress = has_progress && &topic == &report.topics.back();
    if (is_progress) {
      check_progress_topic(findings, topic);
    } else {
      check_topic(findings, report, topic);
    }
  }
  if (topics.templates.empty() || report.auto_create_topics.value_or(true)) return;
  findings.warning(
      "sink.topic",
      fmt::format("the brokers do not make topics, and those of {} depend on the rows", join(topics.templates, ", ")),
      "make every topic beforehand");
}

void check_file(Findings& findings, const std::string& path) {
  const std::filesystem::path file(path);
  const auto directory = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  std::error_code ignored;  // "does not exist" is all that is asked for
  const auto& to_write = std::filesystem::exists(file, ignored) ? file : directory;
  if (access(to_write.c_str(), W_OK) == 0) {
    findings.ok("sink.file", fmt::format("\"{}\" can be written to", path));
  } else {
    findings.error("sink.file", fmt::format("\"{}\" cannot be written to", to_write.string()),
                   "make the directory, or give this user the right to write");
  }
}

}  // namespace

Findings check_sink(const Config& config) {
  Findings findings;
  try {
    if (config.sink.type == SinkType::kafka) check_kafka(findings, config);
    if (config.sink.type == SinkType::file) check_file(findings, config.sink.file_path);
  } catch (const SinkConfigError& error) {
    constexpr std::string_view kPrefix = "sink.kafka: ";
    const std::string_view what = error.what();
    findings.error("sink.kafka", std::string(what.starts_with(kPrefix) ? what.substr(kPrefix.size()) : what),
                   "correct that property under [sink.kafka]");
  } catch (const RuleError& error) {
    findings.error("mapping", error.what(), "correct the [[outbox]]");
  }
  return findings;
}

}  // namespace walrelay
