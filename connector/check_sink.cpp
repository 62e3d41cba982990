// The part of `check` that looks at where events go.

#include <fmt/format.h>

#include "connector/check.h"
#include "sinks/kafka_options.h"
#include "sinks/sink_error.h"

namespace walrelay {
namespace {

void check_kafka(Findings& findings, const Config& config) {
  validate_kafka_properties(config.sink.kafka);
  for (auto& line : kafka_warnings(config.sink.kafka)) findings.warning("sink.kafka", std::move(line), "");
}

}  // namespace

Findings check_sink(const Config& config) {
  Findings findings;
  try {
    if (config.sink.type == SinkType::kafka) check_kafka(findings, config);
  } catch (const SinkConfigError& error) {
    findings.error("sink.kafka", error.what(), "correct [sink.kafka]");
  }
  return findings;
}

}  // namespace walrelay
