#include "tests/support/kafka_broker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "tests/support/free_port.h"
#include "tests/support/kafka_client.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr milliseconds kStartMax = seconds(60);
constexpr milliseconds kStopMax = seconds(30);
constexpr milliseconds kTopicMax = seconds(30);
constexpr int kPortsTriedMax = 5;
constexpr int kReplicasOfTheBroker = -1;     // its default.replication.factor
constexpr std::size_t kLogShownMax = 4'000;  // bytes

bool answers(const std::string& address) { return brokers_known(kafka_client(RD_KAFKA_PRODUCER, address).get()) > 0; }

const ServerSettings kTestSettings = {
    {"process.roles", "broker,controller"},
    {"controller.listener.names", "CONTROLLER"},
    {"inter.broker.listener.name", "PLAINTEXT"},
    {"offsets.topic.replication.factor", "1"},
    {"offsets.topic.num.partitions", "1"},
    {"transaction.state.log.replication.factor", "1"},
    {"transaction.state.log.min.isr", "1"},
    {"transaction.state.log.num.partitions", "1"},
    {"group.initial.rebalance.delay.ms", "0"},
    {"num.partitions", "1"},
    // Records have the time of their row, and many rows of tests are years old: a broker that looks for what is older
    // than a week would take them away under the test's eyes.
    {"log.retention.ms", "-1"},
};

}  // namespace

std::string kafka_jars() {
  const char* given = std::getenv("WALRELAY_KAFKA_JARS");
  std::string directory = given != nullptr ? given : WALRELAY_KAFKA_JARS_DIR;
  if (!std::filesystem::exists(directory)) {
    throw std::runtime_error(fmt::format("no Kafka in {}: run tests/support/kafka-jars {}", directory, directory));
  }
  return std::filesystem::canonical(directory);  // a JVM takes an archive only with the same path
}

std::string kafka_classes() { return kafka_jars() + "/classes.jsa"; }

KafkaBroker::KafkaBroker(ServerSettings settings, std::vector<std::string> listeners, std::string host)
    : settings_(std::move(settings)), host_(std::move(host)) {
  for (const auto& name : listeners) more_ports_[name] = 0;
  start();
}

KafkaBroker::KafkaBroker(int node, std::vector<std::uint16_t> controllers, ServerSettings settings)
    : node_(node), settings_(std::move(settings)), port_(free_port()), controllers_(std::move(controllers)) {
  write_files();
  launch();
}

std::string KafkaBroker::address() const { return fmt::format("{}:{}", host_, port_); }

std::string KafkaBroker::address(const std::string& listener) const {
  return fmt::format("{}:{}", host_, more_ports_.at(listener));
}

std::string KafkaBroker::data_directory() const {
  const auto given =
      std::find_if(settings_.rbegin(), settings_.rend(), [](const auto& s) { return s.first == "log.dirs"; });
  return given == settings_.rend() ? directory_.file("data") : given->second;
}

void KafkaBroker::write_files() const {
  std::string listeners = "PLAINTEXT://" + address();
  for (const auto& [name, port] : more_ports_) listeners += fmt::format(",{}://{}:{}", name, host_, port);
  std::string voters;
  for (std::size_t i = 0; i < controllers_.size(); ++i) {
    voters += fmt::format("{}{}@127.0.0.1:{}", i > 0 ? "," : "", i + 1, controllers_[i]);
  }
  std::string properties = fmt::format(
      "node.id={}\nlisteners={},CONTROLLER://127.0.0.1:{}\nadvertised.listeners={}\ncontroller.quorum.voters={}\n"
      "log.dirs={}\n",
      node_, listeners, controllers_.at(static_cast<std::size_t>(node_) - 1), listeners, voters, data_directory());
  for (const auto& list : {kTestSettings, settings_}) {
    for (const auto& [name, value] : list) properties += name + "=" + value + "\n";
  }
  write_file(directory_.file("server.properties"), properties);
  // What Kafka's own formatting tool would leave behind; writing it here spares the start of a second JVM.
  std::filesystem::create_directories(data_directory());
  write_file(data_directory() + "/meta.properties",
             fmt::format("version=1\nnode.id={0}\ncluster.id=d2FscmVsYXktdGVzdHM0MQ\n"
                         "directory.id=d2FscmVsYXktdGVzdC{0}kaQ\n",
                         node_));
}

void KafkaBroker::start() {
  const bool first_start = port_ == 0;
  for (int attempt = 0; attempt < (first_start ? kPortsTriedMax : 1); ++attempt) {
    if (first_start) {
      port_ = free_port();
      controllers_ = {free_port()};
      for (auto& [name, port] : more_ports_) port = free_port();
      write_files();
    }
    launch();
    if (wait_started()) return;
  }
  const std::string text = log();
  throw std::runtime_error("Kafka does not start:\n" + text.substr(text.size() - std::min(text.size(), kLogShownMax)));
}

void KafkaBroker::launch() {
  if (broker_) past_log_ += broker_->output() + broker_->errors();
  broker_.reset();
  // Only the first, quick compiler: the broker is up sooner, and no test loads it for long.
  std::vector<std::string> arguments = {"-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
                                        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"};
  if (const auto classes = kafka_classes(); std::filesystem::exists(classes)) {
    arguments.push_back("-XX:SharedArchiveFile=" + classes);
  }
  arguments.insert(arguments.end(), {"-cp", kafka_jars() + "/*", "kafka.Kafka", directory_.file("server.properties")});
  broker_ = std::make_unique<Process>("java", arguments);
}

bool KafkaBroker::wait_started() {
  const bool answered = wait_until(kStartMax, [this] { return !broker_->running() || answers(address()); });
  return answered && broker_->running();
}

void KafkaBroker::stop() {
  broker_->signal(SIGCONT);
  broker_->signal(SIGTERM);
  if (!broker_->wait(kStopMax)) throw std::runtime_error("Kafka does not stop:\n" + log());
}

void KafkaBroker::kill() {
  broker_->signal(SIGKILL);
  if (!broker_->wait(kStopMax)) throw std::runtime_error("Kafka survives SIGKILL");
}

std::string KafkaBroker::log() const { return past_log_ + (broker_ ? broker_->output() + broker_->errors() : ""); }

std::uintmax_t KafkaBroker::stored_bytes(const std::string& topic, int partition) const {
  std::uintmax_t bytes = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(fmt::format("{}/{}-{}", data_directory(), topic, partition))) {
    if (file.path().extension() == ".log") bytes += file.file_size();
  }
  return bytes;
}

void create_topic(const std::string& broker, const std::string& topic, int partitions, const TopicSettings& settings) {
  const auto client = kafka_client(RD_KAFKA_PRODUCER, broker);
  std::array<char, 512> error{};
  const KafkaHandle<rd_kafka_NewTopic_t> wanted(
      rd_kafka_NewTopic_new(topic.c_str(), partitions, kReplicasOfTheBroker, error.data(), error.size()));
  if (!wanted) throw std::runtime_error(fmt::format("topic {}: {}", topic, error.data()));
  for (const auto& [name, value] : settings) rd_kafka_NewTopic_set_config(wanted.get(), name.c_str(), value.c_str());

  const KafkaHandle<rd_kafka_queue_t> replies(rd_kafka_queue_new(client.get()));
  rd_kafka_NewTopic_t* list = wanted.get();
  rd_kafka_CreateTopics(client.get(), &list, 1, nullptr, replies.get());
  const KafkaHandle<rd_kafka_event_t> reply(rd_kafka_queue_poll(replies.get(), static_cast<int>(kTopicMax.count())));
  if (!reply || rd_kafka_event_error(reply.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error(
        fmt::format("topic {}: {}", topic, reply ? rd_kafka_event_error_string(reply.get()) : "no answer"));
  }
  std::size_t count = 0;
  const auto* const* results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(reply.get()), &count);
  if (count != 1 || rd_kafka_topic_result_error(results[0]) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error(fmt::format("topic {}: {}", topic, rd_kafka_topic_result_error_string(results[0])));
  }
  if (!wait_until(kTopicMax, [&] { return ready_partitions(client.get(), topic) == partitions; })) {
    throw std::runtime_error(fmt::format("topic {} gets no leaders", topic));
  }
}

}  // namespace walrelay::test
