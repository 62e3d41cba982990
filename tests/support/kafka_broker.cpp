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
constexpr std::size_t kLogShownMax = 4'000;  // bytes

bool answers(const std::string& address) {
  const auto client = kafka_client(RD_KAFKA_PRODUCER, address);
  const rd_kafka_metadata_t* raw = nullptr;
  const bool ok = rd_kafka_metadata(client.get(), 0, nullptr, &raw, 1'000) == RD_KAFKA_RESP_ERR_NO_ERROR;
  const KafkaHandle<const rd_kafka_metadata_t> metadata(raw);
  return ok && metadata->broker_cnt > 0;
}

const ServerSettings kTestSettings = {
    {"process.roles", "broker,controller"},
    {"node.id", "1"},
    {"controller.listener.names", "CONTROLLER"},
    {"inter.broker.listener.name", "PLAINTEXT"},
    {"offsets.topic.replication.factor", "1"},
    {"offsets.topic.num.partitions", "1"},
    {"transaction.state.log.replication.factor", "1"},
    {"transaction.state.log.min.isr", "1"},
    {"transaction.state.log.num.partitions", "1"},
    {"group.initial.rebalance.delay.ms", "0"},
    {"num.partitions", "1"},
};

}  // namespace

std::string kafka_jars() {
  const char* given = std::getenv("WALRELAY_KAFKA_JARS");
  std::string directory = given != nullptr ? given : WALRELAY_KAFKA_JARS_DIR;
  if (!std::filesystem::exists(directory)) {
    throw std::runtime_error(fmt::format("no Kafka in {}: run tests/support/kafka-jars {}", directory, directory));
  }
  return directory;
}

KafkaBroker::KafkaBroker(ServerSettings settings, std::vector<std::string> listeners) : settings_(std::move(settings)) {
  for (const auto& name : listeners) more_ports_[name] = 0;
  start();
}

std::string KafkaBroker::address() const { return fmt::format("127.0.0.1:{}", port_); }

std::string KafkaBroker::address(const std::string& listener) const {
  return fmt::format("127.0.0.1:{}", more_ports_.at(listener));
}

std::string KafkaBroker::data_directory() const {
  const auto given =
      std::find_if(settings_.rbegin(), settings_.rend(), [](const auto& s) { return s.first == "log.dirs"; });
  return given == settings_.rend() ? directory_.file("data") : given->second;
}

void KafkaBroker::write_files() const {
  std::string listeners = fmt::format("PLAINTEXT://127.0.0.1:{}", port_);
  for (const auto& [name, port] : more_ports_) listeners += fmt::format(",{}://127.0.0.1:{}", name, port);
  std::string properties = fmt::format(
      "listeners={0},CONTROLLER://127.0.0.1:{1}\nadvertised.listeners={0}\n"
      "controller.quorum.voters=1@127.0.0.1:{1}\nlog.dirs={2}\n",
      listeners, controller_port_, data_directory());
  for (const auto& list : {kTestSettings, settings_}) {
    for (const auto& [name, value] : list) properties += name + "=" + value + "\n";
  }
  write_file(directory_.file("server.properties"), properties);
  // What Kafka's own formatting tool would leave behind; writing it here spares the start of a second JVM.
  std::filesystem::create_directories(data_directory());
  write_file(data_directory() + "/meta.properties",
             "version=1\nnode.id=1\ncluster.id=d2FscmVsYXktdGVzdHM0MQ\ndirectory.id=d2FscmVsYXktdGVzdC1kaQ\n");
}

void KafkaBroker::start() {
  const bool first_start = port_ == 0;
  for (int attempt = 0; attempt < (first_start ? kPortsTriedMax : 1); ++attempt) {
    if (first_start) {
      port_ = free_port();
      controller_port_ = free_port();
      for (auto& [name, port] : more_ports_) port = free_port();
      write_files();
    }
    if (try_start()) return;
  }
  const std::string text = log();
  throw std::runtime_error("Kafka does not start:\n" + text.substr(text.size() - std::min(text.size(), kLogShownMax)));
}

bool KafkaBroker::try_start() {
  forget_broker();
  // Only the first, quick compiler: the broker is up sooner, and no test loads it for long.
  broker_ = std::make_unique<Process>(
      "java", std::vector<std::string>{"-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
                                       "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", kafka_jars() + "/*",
                                       "kafka.Kafka", directory_.file("server.properties")});
  const bool answered = wait_until(kStartMax, [this] { return !broker_->running() || answers(address()); });
  return answered && broker_->running();
}

void KafkaBroker::forget_broker() {
  if (broker_) past_log_ += broker_->output() + broker_->errors();
  broker_.reset();
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

void create_topic(const std::string& broker, const std::string& topic, int partitions, const TopicSettings& settings) {
  const auto client = kafka_client(RD_KAFKA_PRODUCER, broker);
  std::array<char, 512> error{};
  const KafkaHandle<rd_kafka_NewTopic_t> wanted(
      rd_kafka_NewTopic_new(topic.c_str(), partitions, 1, error.data(), error.size()));
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
