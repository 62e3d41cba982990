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
#include "sinks/kafka_sink.h"
#include "sinks/sink_error.h"

namespace walrelay {
namespace {

constexpr std::chrono::milliseconds kInspectTimeout{8'000};

struct Topics {
  std::vector<std::string> known;      // named in the configuration
  std::vector<std::string> templates;  // the rest is known only with the rows
  std::string dead_letter;             // among the known; "" where none is sent
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
  if (!dead_letters) return topics;
  topics.dead_letter = delivery.dead_letter_topic;
  add_once(topics.known, topics.dead_letter);
  return topics;
}

// A command of Kafka's tools.
std::string kafka_tool(const Config& config, std::string_view tool, const std::string& what) {
  return fmt::format("{} --bootstrap-server {} {}", tool, kafka_bootstrap_servers(config.sink.kafka), what);
}

std::string creation_remedy(const Config& config, const std::string& topic) {
  return kafka_tool(config, "kafka-topics.sh", "--create --topic " + topic);
}

std::string setting_remedy(const Config& config, const std::string& topic, const std::string& setting) {
  return kafka_tool(config, "kafka-configs.sh",
                    fmt::format("--alter --entity-type topics --entity-name {} --add-config {}", topic, setting));
}

void check_topic(Findings& findings, const Config& config, const KafkaReport& report, const KafkaTopicReport& topic) {
  if (!topic.problem.empty()) {
    findings.error("sink.topic", topic.problem, "");
  } else if (topic.exists) {
    findings.ok("sink.topic", fmt::format("topic \"{}\" exists, {} partitions", topic.name, topic.partitions));
  } else if (!report.auto_create_topics) {
    findings.warning(
        "sink.topic",
        fmt::format("topic \"{}\" does not exist, and whether the brokers make it cannot be seen", topic.name),
        creation_remedy(config, topic.name));
  } else if (*report.auto_create_topics) {
    findings.ok("sink.topic", fmt::format("topic \"{}\" does not exist yet; the brokers make it", topic.name));
  } else {
    findings.error("sink.topic",
                   fmt::format("topic \"{}\" does not exist, and the brokers do not make topics", topic.name),
                   creation_remedy(config, topic.name));
  }
}

// A topic for what is too large for others has to take more than they do.
void check_dead_letter_room(Findings& findings, const Config& config, const KafkaReport& report,
                            const KafkaTopicReport& topic) {
  if (!topic.max_message_bytes) return;
  std::size_t others = 0;
  for (const auto& other : report.topics) {
    const bool of_events = &other != &topic && other.name != config.delivery.progress_topic;
    if (of_events && other.exists) others = std::max(others, other.max_message_bytes.value_or(0));
  }
  if (others == 0) others = report.max_message_bytes.value_or(0);  // known with the rows only, or made later
  if (*topic.max_message_bytes > others) return;
  findings.warning(
      "sink.dead_letter",
      fmt::format(
          "topic \"{}\" takes records of up to {} bytes, no more than the topics of the events: one that is too "
          "large for them is too large for it, and halts the relay",
          topic.name, *topic.max_message_bytes),
      setting_remedy(config, topic.name, fmt::format("max.message.bytes={}", KafkaSink::kDeadLetterBytesMax)));
}

void check_dead_letter_topic(Findings& findings, const Config& config, const KafkaReport& report,
                             const KafkaTopicReport& topic) {
  const bool made = topic.problem.empty() && !topic.exists && report.auto_create_topics &&
                    kafka_property(config.sink.kafka, "allow.auto.create.topics") != "false";
  if (made) {
    findings.ok("sink.topic",
                fmt::format("topic \"{}\" of dead letters does not exist yet; `run` makes it", topic.name));
  } else {
    check_topic(findings, config, report, topic);
  }
  if (topic.exists && config.delivery.policy(FailureClass::too_large) == OnError::dead_letter) {
    check_dead_letter_room(findings, config, report, topic);
  }
}

void check_progress_topic(Findings& findings, const Config& config, const KafkaTopicReport& topic) {
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
                     setting_remedy(config, topic.name, "cleanup.policy=compact"));
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
    findings.error("sink.broker", report.unreachable, report.remedy);
    return;
  }
  findings.ok("sink.broker", fmt::format("brokers answer: {}", join(report.brokers, ", ")));
  for (const auto& topic : report.topics) {
    const bool is_progress = has_progress && &topic == &report.topics.back();
    if (is_progress) {
      check_progress_topic(findings, config, topic);
    } else if (topic.name == topics.dead_letter) {
      check_dead_letter_topic(findings, config, report, topic);
    } else {
      check_topic(findings, config, report, topic);
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
