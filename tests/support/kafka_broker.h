#pragma once
// A real Apache Kafka (a KRaft node, broker and controller) that lives as long as a test, and what a test asks of any
// broker.

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

  // Started. `listeners`: names of further listeners; settings give their protocols and what those need. `host`: an
  // address of this machine that clients come to.
  explicit KafkaBroker(ServerSettings settings = {}, std::vector<std::string> listeners = {},
                       std::string host = "127.0.0.1");

  // One of the nodes 1, 2, ... of a cluster, whose controllers listen on these ports: launched, but up only together
  // with others. See kafka_cluster.h.
  KafkaBroker(int node, std::vector<std::uint16_t> controllers, ServerSettings settings);
  [[nodiscard]] bool wait_started();  // false: it has ended, or needs too long

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
  [[nodiscard]] std::uintmax_t stored_bytes(const std::string& topic, int partition) const;  // of its own copy

 private:
  void launch();
  [[nodiscard]] std::string data_directory() const;
  void write_files() const;

  int node_ = 1;
  ServerSettings settings_;
  std::string host_ = "127.0.0.1";
  TempDir directory_;
  std::uint16_t port_ = 0;
  std::vector<std::uint16_t> controllers_;           // ports of all nodes, in their order
  std::map<std::string, std::uint16_t> more_ports_;  // by listener
  std::string past_log_;
  std::unique_ptr<Process> broker_;
};

using TopicSettings = std::vector<std::pair<std::string, std::string>>;

// Through the Admin API, with as many replicas as the broker's default; back when the topic has leaders. Errors:
// std::runtime_error, also if it exists.
void create_topic(const std::string& broker, const std::string& topic, int partitions = 1,
                  const TopicSettings& settings = {});

// The directory with Kafka's jars, for Java programs of its own: `java -cp "<this>/*" ...`.
[[nodiscard]] std::string kafka_jars();

// A file beside them: the classes of a running broker as a JVM archives them, with which a start takes half the time.
// Brokers do without if it is not there. Made by `shared_servers archive`.
[[nodiscard]] std::string kafka_classes();

}  // namespace walrelay::test
