#pragma once
// Dead letters → the topics they should have gone to. Blocks until every one is settled.

#include <cstdint>
#include <string>
#include <vector>

#include "connector/config/config.h"
#include "connector/postgres/row_query.h"
#include "connector/publish/event_publisher.h"

namespace walrelay {

struct DeadLetterTally {
  PublishTally published;
  std::uint64_t without_topic = 0;       // could not be mapped: only the row itself can be published again
  std::vector<std::string> missing_ids;  // asked for, and of no record that the other filters take
};

// Reads the dead-letter topic from its beginning to the end that it has now, and publishes what the filter takes: by
// the headers id and type and the record's time. The walrelay-* headers are left out. The sink of `config` is Kafka.
// Throws PublishStopped and what KafkaTopicReader and make_sink() throw.
DeadLetterTally publish_dead_letters(const Config& config, const RowFilter& filter);

}  // namespace walrelay
