// The ctest fixture "servers": starts the PostgreSQL and the Kafka that integration tests share, and stops them.
//   shared_servers start FILE           returns when both answer; FILE then holds their addresses
//   shared_servers start FILE RUNNING   the same with the Kafka of another file's servers, which run longer
//   shared_servers stop FILE
//   shared_servers archive              makes the file of Kafka's classes, unless it is there
// They also end when the process that called `start`, ctest, is gone: an interrupted run leaves nothing behind.

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>

#include "tests/support/kafka_broker.h"
#include "tests/support/postgres_server.h"
#include "tests/support/shared_servers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace {

using namespace walrelay::test;

constexpr milliseconds kStartMax = seconds(120);
constexpr milliseconds kStopMax = seconds(30);

int open_process(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

// Until SIGTERM comes or the process behind `caller` has ended.
void wait_for_the_end(int caller) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  std::array<pollfd, 2> events = {{{signalfd(-1, &signals, SFD_CLOEXEC), POLLIN, 0}, {caller, POLLIN, 0}}};
  while (poll(events.data(), events.size(), -1) < 0) {
  }
}

// In the background: its output must not keep ctest's pipe open.
int serve(const std::string& file, const std::string& running, int caller) {
  setsid();
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  const int log = open((file + ".log").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (log < 0 || nothing < 0) return 1;
  dup2(nothing, 0);
  dup2(log, 1);
  dup2(log, 2);
  try {
    std::optional<KafkaBroker> own_kafka;
    const std::string kafka = running.empty() ? own_kafka.emplace().address() : read_addresses(running).kafka;
    const PostgresServer postgres;
    write_file(file + ".new", fmt::format("{}\n{}\n{}\n", postgres.dsn(), kafka, getpid()));
    std::filesystem::rename(file + ".new", file);  // whole or not at all
    wait_for_the_end(caller);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  std::filesystem::remove(file);
  return 0;
}

int start(const std::string& file, const std::string& running) {
  std::filesystem::remove(file);
  const int caller = open_process(getppid());
  const pid_t server = fork();
  if (server == 0) return serve(file, running, caller);
  const int ended = open_process(server);
  pollfd end = {ended, POLLIN, 0};
  const bool up = wait_until(kStartMax, [&] { return std::filesystem::exists(file) || poll(&end, 1, 0) > 0; });
  if (up && std::filesystem::exists(file)) return 0;
  fmt::print(stderr, "the shared servers do not start:\n{}\n", read_file(file + ".log"));
  kill(server, SIGTERM);
  return 1;
}

int stop(const std::string& file) {
  std::istringstream lines(read_file(file));
  std::string skipped;
  pid_t server = 0;
  std::getline(lines, skipped);
  std::getline(lines, skipped);
  if (!(lines >> server)) return 0;
  kill(server, SIGTERM);
  return wait_until(kStopMax, [&] { return kill(server, 0) != 0; }) ? 0 : 1;
}

// Nothing fails without it.
int archive() {
  try {
    const auto file = kafka_classes();
    if (std::filesystem::exists(file)) return 0;
    const auto made = fmt::format("{}.{}", file, getpid());
    setenv("JAVA_TOOL_OPTIONS", ("-XX:ArchiveClassesAtExit=" + made).c_str(), 1);
    KafkaBroker broker;
    create_topic(broker.address(), "t");
    broker.stop();
    std::filesystem::rename(made, file);  // whole or not at all
  } catch (const std::exception& error) {
    fmt::print(stderr, "no archive of Kafka's classes: {}\n", error.what());
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string verb = count >= 3 ? words[1] : "";
  if (verb == "start" && count <= 4) return start(words[2], count == 4 ? words[3] : "");
  if (verb == "stop" && count == 3) return stop(words[2]);
  if (count == 2 && std::string(words[1]) == "archive") return archive();
  fmt::print(stderr, "usage: shared_servers start FILE [RUNNING] | stop FILE | archive\n");
  return 2;
}
