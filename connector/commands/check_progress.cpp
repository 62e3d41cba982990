// The part of `check` that compares the slot with its progress record, as `run` does at its start.

#include <fmt/format.h>

#include "connector/commands/check.h"
#include "connector/commands/command_support.h"
#include "connector/postgres/catalog.h"
#include "connector/progress_store.h"
#include "connector/progress_verdict.h"
#include "connector/sink_factory.h"
#include "sinks/kafka_admin.h"

namespace walrelay {
namespace {

constexpr std::chrono::milliseconds kBrokerTimeout{5'000};

ServerHistory read_history(const Config& config) {
  PgConnection connection(replication_conninfo(config.postgres.dsn, config.postgres.slot));
  const auto system = connection.exec_simple("IDENTIFY_SYSTEM");
  ServerHistory history{.system_identifier = system[0].text("systemid"),
                        .timeline = static_cast<std::uint32_t>(system[0].number("timeline")),
                        .flushed = system[0].lsn("xlogpos").value_or(Lsn{}),
                        .database = system[0].text("dbname")};
  if (history.timeline > 1) {
    const auto timelines = connection.exec_simple(fmt::format("TIMELINE_HISTORY {}", history.timeline));
    history.earlier_timelines = parse_timeline_history(timelines[0].text("content"));
  }
  return history;
}

// `run` makes the topic; `check` changes nothing.
bool topic_exists(const Config& config) {
  const std::vector<std::string> topic = {config.delivery.progress_topic};
  const auto report = inspect_kafka(config.sink.kafka, topic, kBrokerTimeout);
  return report.unreachable.empty() && report.topics.at(0).exists;
}

void compare(Findings& findings, const Config& config, Lsn slot_position) {
  const std::string& slot = config.postgres.slot;
  const auto sink = make_sink(config);
  const auto records = read_progress_records(*sink, slot, kBrokerTimeout);
  if (!records || records->empty()) {
    return findings.ok("progress", fmt::format("there is no progress record of slot \"{}\" yet", slot));
  }
  const auto verdict = judge_progress(*records, slot, slot_position, read_history(config));
  if (verdict.gap.empty()) {
    return findings.ok("progress", "the slot fits its progress record");
  }
  findings.error("progress", verdict.gap, "");
}

}  // namespace

Findings check_progress(const Config& config) {
  Findings findings;
  try {
    PgConnection connection(query_conninfo(config));
    const auto slot = read_slot(connection, config.postgres.slot);
    const bool has_position = slot && slot->confirmed_lsn && !slot->lost();
    if (has_position && topic_exists(config)) compare(findings, config, *slot->confirmed_lsn);
  } catch (const PgError& error) {
    findings.error("progress", error.reason(), error.remedy());
  } catch (const ProgressError& error) {
    findings.error("progress", error.what(), "");
  }
  return findings;
}

}  // namespace walrelay
