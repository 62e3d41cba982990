// mock_broker FILE: librdkafka's built-in mock cluster as a process of its own, for trying walrelay without Java. Its
// address is in FILE once it answers. It keeps the latest records in memory, 5 MiB of each partition, and ends at
// SIGTERM or SIGINT.

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

namespace {

struct Free {
  void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
  void operator()(rd_kafka_mock_cluster_t* cluster) const { rd_kafka_mock_cluster_destroy(cluster); }
};

// Whole or not at all: whoever waits for the file reads an address as soon as it is there.
bool publish(const std::string& file, const std::string& address) {
  const std::string draft = file + ".new";
  std::ofstream out(draft);
  out << address << '\n';
  out.close();
  return out && std::rename(draft.c_str(), file.c_str()) == 0;
}

int serve(const std::string& file) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);  // before librdkafka's threads, which inherit it

  rd_kafka_conf_t* configuration = rd_kafka_conf_new();
  rd_kafka_conf_set_log_cb(configuration, nullptr);  // it would warn that it has no broker to connect to
  std::array<char, 512> error{};
  const std::unique_ptr<rd_kafka_t, Free> client(
      rd_kafka_new(RD_KAFKA_PRODUCER, configuration, error.data(), error.size()));
  const std::unique_ptr<rd_kafka_mock_cluster_t, Free> cluster(client ? rd_kafka_mock_cluster_new(client.get(), 1)
                                                                      : nullptr);
  if (!cluster) {
    fmt::print(stderr, "mock_broker: librdkafka's mock cluster does not start: {}\n", error.data());
    return 1;
  }
  // Nobody can make topics in it by request, and a consumer that asks for one does not make it from librdkafka 2.8 on.
  rd_kafka_mock_topic_create(cluster.get(), "walrelay.progress", 1, 1);
  if (!publish(file, rd_kafka_mock_cluster_bootstraps(cluster.get()))) {
    fmt::print(stderr, "mock_broker: cannot write {}\n", file);
    return 1;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view word = count == 2 ? words[1] : "";
  const bool asked = word == "--help" || word == "-h";
  if (!word.empty() && word.front() != '-') return serve(words[1]);
  fmt::print(asked ? stdout : stderr,
             "usage: mock_broker FILE\nlibrdkafka's mock cluster; its address is in FILE once it "
             "answers\n");
  return asked ? 0 : 2;
}
