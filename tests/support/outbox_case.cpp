#include "tests/support/outbox_case.h"

#include <fmt/format.h>

#include <stdexcept>

#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {

std::string toml_quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  return quoted + "\"";
}

std::string OutboxCase::configuration() const {
  const auto kafka = fmt::format("[sink.kafka]\n\"bootstrap.servers\" = {}\n", toml_quoted(shared_kafka()));
  return fmt::format("[postgres]\ndsn = {}\nslot = {}\npublication = {}\n{}{}\n{}", toml_quoted(dsn_),
                     toml_quoted(name()), toml_quoted(publication_), outboxes_, sink_.value_or(kafka), settings_);
}

CommandResult OutboxCase::run(const std::string& command, const std::vector<std::string>& arguments,
                              const ProcessOptions& options) const {
  std::vector<std::string> all{command};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return walrelay_command(all, configuration() + "\n[http]\nlisten = \"\"\n", options, seconds(60));
}

void OutboxCase::init() const {
  const auto result = run("init");
  if (result.status != 0) throw std::runtime_error("walrelay init: " + result.errors);
}

void OutboxCase::drain() const {
  const auto result = run("run", {"--drain"});
  if (result.status != 0) {
    throw std::runtime_error(fmt::format("walrelay run --drain ended with {}: {}", result.status, result.errors));
  }
}

std::vector<TopicRecord> OutboxCase::records(const std::string& topic) {
  return TopicReader(shared_kafka(), topic).read_to_end();
}

std::vector<std::string> OutboxCase::values(const std::string& topic) {
  std::vector<std::string> values;
  for (const auto& record : records(topic)) values.push_back(record.value.value_or("(null)"));
  return values;
}

std::string OutboxCase::confirmed() {
  return database_.value(
      fmt::format("SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '{}'", name()));
}

bool OutboxCase::confirmed_reaches(const std::string& lsn) {
  return database_.value(fmt::format(
             "SELECT confirmed_flush_lsn >= '{}' FROM pg_replication_slots WHERE slot_name = '{}'", lsn, name())) ==
         "t";
}

bool OutboxCase::wait_drained() {
  const auto target = wal_position();
  return wait_until(seconds(20), [&] { return confirmed_reaches(target); });
}

}  // namespace walrelay::test
