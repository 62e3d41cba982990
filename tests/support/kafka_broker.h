#pragma once
// A real Apache Kafka (one node, KRaft) that lives as long as a test, and what a test asks of any broker.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/server_settings.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {

// Needs a JDK and the jars that tests/support/kafka-jars fetches ($WALRELAY_KAFKA_JARS, or the build's kafka-jars).
// Listens on 127.0.0.1 without TLS or login, and as settings say on further listeners; topics are created on first use
// with one partition, unless set otherwise. A start takes about three seconds: take shared_servers.h's broker where the
// test does not stop, pause or configure it. Dies with the process that made it. Errors: std::runtime_error with the
// end of the broker's log.
class KafkaBroker {
 public:
  using Settings =
      std::vector<std::pair<std::string, std::string>>;  // of server.properties; the last one of a name counts

  // Started. `listeners`: names of further listeners; settings give their protocols and what those need.
  explicit KafkaBroker(ServerSettings settings = {}, std::vector<std::string> listeners = {});

  // The port and the data stay the same over all of these.
  void start();
  void stop();  // orderly, SIGTERM
  void kill();  // SIGKILL
  void restart() {
    stop();
    start();
  }
  void pause() { broker_->signal(SIGSTOP); }  // takes connections, answers nothing
  void resume() { broker_->signal(SIGCONT); }

  [[nodiscard]] std::string address() const;                             // for bootstrap.servers
  [[nodiscard]] std::string address(const std::string& listener) const;  // of one of the further listeners
  [[nodiscard]] bool running() { return broker_->running(); }
  [[nodiscard]] std::string log() const;

 private:
  bool try_start();
  [[nodiscard]] std::string data_directory() const;
  void write_files() const;
  void forget_broker();

  ServerSettings settings_;
  TempDir directory_;
  std::uint16_t port_ = 0;
  std::uint16_t controller_port_ = 0;
  std::map<std::string, std::uint16_t> more_ports_;  // by listener
  std::string past_log_;
  std::unique_ptr<Process> broker_;
};

using TopicSettings = std::vector<std::pair<std::string, std::string>>;

// Through the Admin API; back when the topic has leaders. Errors: std::runtime_error, also if it exists.
void create_topic(const std::string& broker, const std::string& topic, int partitions = 1,
                  const TopicSettings& settings = {});

// The directory with Kafka's jars, for Java programs of its own: `java -cp "<this>/*" ...`.
[[nodiscard]] std::string kafka_jars();

}  // namespace walrelay::test
